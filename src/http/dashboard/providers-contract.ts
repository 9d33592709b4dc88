import { type Static, Type } from 'typebox'
import { ChannelName } from '../contract/attempt.ts'
import { Integration } from '../contract/integration.ts'

/** Requests and answers for providers. Setting up one provider is answered as in the merchants' API. */

const ProviderRow = Type.Object({
  provider: Type.String(),
  title: Type.String(),
  channels: Type.Array(ChannelName),
  countries: Type.Array(Type.String()),
  currencies: Type.Array(Type.String()),
  /** What the provider keeps, in words. */
  fees: Type.Array(Type.Object({ channel: ChannelName, currency: Type.String(), text: Type.String() })),
  /** What a merchant copies from the provider's dashboard. */
  settings: Type.Array(
    Type.Object({
      name: Type.String(),
      about: Type.String(),
      secret: Type.Boolean(),
      optional: Type.Boolean(),
      looksLike: Type.String(),
    }),
  ),
  /** The address to enter in the provider's dashboard. */
  noticeURL: Type.String(),
  /** A notice has come in the last 90 days. */
  noticeSeen: Type.Boolean(),
  /** Null: not set up. `enabled: false`: switched off. */
  integration: Type.Unsafe<Static<typeof Integration> | null>({
    type: ['object', 'null'],
    properties: Integration.properties,
  }),
  /** Calls have succeeded lately, as far as this process knows. */
  healthy: Type.Boolean(),
  /** When the records were last compared with each list of the account, and why it cannot be now. */
  lists: Type.Array(
    Type.Object({
      kind: Type.String(),
      comparedAt: Type.Union([Type.String(), Type.Null()]),
      failure: Type.Union([Type.String(), Type.Null()]),
      /** The account has no such list. */
      unsupported: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
})
export type ProviderRow = Static<typeof ProviderRow>
export const ProvidersAnswer = Type.Object({ data: Type.Array(ProviderRow) })
export const ProviderOrder = Type.Object({
  /** The names of all providers that are switched on, the first to be used first. */
  providers: Type.Array(Type.String({ maxLength: 50 }), { minItems: 1, maxItems: 100, uniqueItems: true }),
})
