import { Type } from 'typebox'
import { DEFAULT_PRIORITY, MAX_PRIORITY } from '../../integrations/integration.ts'
import { ChannelName } from './attempt.ts'
import { integrationExample } from './examples.ts'
import { dataOf, nullable, optional, ref, wholeListOf } from './schema.ts'

const { channels, countries, currencies, provider, priority } = integrationExample
const offeredExample = { provider, channels, countries, currencies, priority }
const Time = Type.String({ format: 'date-time' })
const Priority = Type.Integer({ description: 'The integration with the lowest number is used first.' })
const MAX_CHOICES = 300

/** A subset of the provider's capabilities. The allowed values depend on the provider, so the operation checks them. */
const some = (what: string) =>
  optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      maxItems: MAX_CHOICES,
      description: `${what} Absent or null: unchanged (a new integration uses all). Empty: all.`,
    }),
  )

export const IntegrationRequest = Type.Object(
  {
    settings: optional(
      Type.Object(
        {},
        {
          additionalProperties: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
          maxProperties: 50,
          description:
            'Keys and ids from the provider’s dashboard. Secrets are stored encrypted and never shown again. Settings that you leave out stay unchanged; an empty string removes an optional one. ' +
            'With another `baseURL` every secret must be sent again.',
        },
      ),
    ),
    baseURL: optional(
      Type.String({
        maxLength: 2_048,
        description:
          'Another base URL for the provider’s API. Absent or null: unchanged. Empty: the provider’s default. In live mode https only.',
      }),
    ),
    channels: some('The channels to use it for.'),
    countries: some('The countries to use it in: alpha-2, alpha-3 or English name.'),
    currencies: some('The currencies to use it for.'),
    priority: optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_PRIORITY,
        description: `The integration with the lowest number is used first. Absent or null: unchanged (a new integration has ${DEFAULT_PRIORITY}).`,
      }),
    ),
  },
  {
    $id: 'IntegrationRequest',
    examples: [{ settings: { secretKey: 'sk_test_5f2a9c' }, currencies: ['NGN'], priority: 10 }],
  },
)

export const Integration = Type.Object(
  {
    provider: Type.String(),
    enabled: Type.Boolean({ description: '`false` when the integration was removed.' }),
    settings: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'The settings that are not secret.',
    }),
    secretsSet: Type.Array(Type.String(), {
      description: 'Names of the secrets that are set. Their values are never shown.',
    }),
    baseURL: nullable(Type.String({ description: '`null` when the provider is part of this service.' })),
    channels: Type.Array(ChannelName),
    countries: Type.Array(Type.String()),
    currencies: Type.Array(Type.String()),
    priority: Priority,
    noticeURL: Type.String({ description: 'Enter it in the provider’s dashboard as the webhook URL.' }),
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: 'Integration', examples: [integrationExample] },
)
export const IntegrationAnswer = dataOf(ref(Integration))

export const IntegrationSetAnswer = Type.Object({
  data: ref(Integration),
  warning: nullable(
    Type.Object(
      {
        code: Type.Unsafe<'keys_refused' | 'keys_not_checked'>({
          type: 'string',
          enum: ['keys_refused', 'keys_not_checked'],
        }),
        message: Type.String(),
      },
      {
        description: '`null` when the provider accepts the keys, or the request set none.',
        examples: [{ code: 'keys_not_checked', message: 'The provider did not answer in 5 s.' }],
      },
    ),
  ),
})

export const IntegrationsAnswer = wholeListOf(
  Type.Object(
    {
      provider: Type.String(),
      channels: Type.Array(ChannelName),
      countries: Type.Array(Type.String()),
      currencies: Type.Array(Type.String()),
      priority: Priority,
    },
    { examples: [offeredExample] },
  ),
)

export const KeysAnswer = dataOf(
  Type.Object(
    {
      keys: Type.Unsafe<'good' | 'bad' | 'unknown'>({
        type: 'string',
        enum: ['good', 'bad', 'unknown'],
        description: '`unknown`: the provider did not answer. Try again.',
      }),
      reason: nullable(Type.String({ description: 'Why they are bad, or why the check failed.' })),
    },
    { examples: [{ keys: 'bad', reason: 'the provider answered 401' }] },
  ),
)
