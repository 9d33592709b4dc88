import { Type } from 'typebox'
import { DEFAULT_PRIORITY, MAX_PRIORITY } from '../../../integrations/integration.ts'
import { ChannelName } from './attempt.ts'
import { dataOf, nullable, optional, ref, wholeListOf } from './schema.ts'

const Time = Type.String({ format: 'date-time' })
const Priority = Type.Integer({ description: 'The lower number is asked first.' })
const MOST_CHOICES = 300

/** Some of what the provider can do. Which values those are depends on the provider, so they are checked where it is known. */
const some = (what: string) =>
  optional(
    Type.Array(Type.String({ maxLength: 100 }), {
      maxItems: MOST_CHOICES,
      description: `${what} Absent or null: as before, and at first all that the provider can do. Empty: all of them.`,
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
            'What you copy from the provider’s dashboard. Secrets are sealed, and never shown again. What you leave out stays as it is; an empty text takes an optional one away. ' +
            'With another `baseURL` every secret must be sent again.',
        },
      ),
    ),
    baseURL: optional(
      Type.String({
        maxLength: 2_048,
        description:
          'Where the provider’s API is, if not where it usually is. Absent or null: as before. Empty: the provider’s own again. In live mode https only.',
      }),
    ),
    channels: some('Which channels to use it for.'),
    countries: some('Which countries to use it in, in any spelling.'),
    currencies: some('Which currencies to use it for.'),
    priority: optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_PRIORITY,
        description: `The lower number is asked first. Absent or null: as before, and at first ${DEFAULT_PRIORITY}.`,
      }),
    ),
  },
  {
    $id: 'IntegrationRequest',
    examples: [{ settings: { secretKey: 'sk_test_…' }, currencies: ['NGN'], priority: 10 }],
  },
)

export const Integration = Type.Object(
  {
    provider: Type.String(),
    enabled: Type.Boolean({ description: 'False: removed.' }),
    settings: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Those that are no secret.',
    }),
    secretsSet: Type.Array(Type.String(), {
      description: 'The names of the secrets that are set. Their values are never shown.',
    }),
    baseURL: nullable(Type.String({ description: 'Null: the provider is part of this service.' })),
    channels: Type.Array(ChannelName),
    countries: Type.Array(Type.String()),
    currencies: Type.Array(Type.String()),
    priority: Priority,
    noticeURL: Type.String({ description: 'Paste it into the provider’s dashboard, as the address of its webhooks.' }),
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: 'Integration' },
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
      { description: 'Null: the provider accepts the keys, or the request set none.' },
    ),
  ),
})

export const IntegrationsAnswer = wholeListOf(
  Type.Object({
    provider: Type.String(),
    channels: Type.Array(ChannelName),
    countries: Type.Array(Type.String()),
    currencies: Type.Array(Type.String()),
    priority: Priority,
  }),
)

export const KeysAnswer = dataOf(
  Type.Object({
    keys: Type.Unsafe<'good' | 'bad' | 'unknown'>({
      type: 'string',
      enum: ['good', 'bad', 'unknown'],
      description: '`unknown`: the provider did not say. Ask again.',
    }),
    reason: nullable(Type.String({ description: 'Why they are bad, or why nobody knows.' })),
  }),
)
