import { Type } from 'typebox'
import { ChannelName } from './attempt.ts'
import { channelExample } from './examples.ts'
import { nullable, ref, wholeListOf } from './schema.ts'

const Choice = Type.Object({ code: Type.String(), name: Type.String() })

export const OfferedChannel = Type.Object(
  {
    provider: Type.String({ description: 'The `provider` to send to `POST /payments/v1/payments/initialize`.' }),
    channel: ChannelName,
    title: Type.String({ description: 'For people, in English.' }),
    country: Type.String(),
    currency: Type.String(),
    limits: Type.Unsafe<{ min: number; max: number } | null>({
      type: ['object', 'null'],
      properties: { min: { type: 'integer' }, max: { type: 'integer' } },
      description: 'What the customer can be charged at once. `null`: the provider names no limits.',
    }),
    fields: Type.Array(Type.String(), {
      description:
        'What to send to initialize, besides what every payment needs: `phoneNumber`, `network`, `preAuthorisationCode`, `bank`.',
    }),
    networks: Type.Array(
      Type.Object({
        code: Type.String({ description: 'The `network` to send.' }),
        name: Type.String(),
        phoneNumber: Type.Boolean({
          description: 'Whether it needs a phone number. `false`: the customer pays from the menu of the network.',
        }),
        preAuthorisationCode: Type.Boolean({
          description: 'Whether it needs a `preAuthorisationCode`, which the customer makes on the phone first.',
        }),
        available: Type.Boolean({
          description: 'Whether it takes payments now. `false`: show it, so that customers do not look for it.',
        }),
      }),
    ),
    codeHelp: nullable(
      Type.String({ description: 'How the customer makes a `preAuthorisationCode`, in the words of the provider.' }),
    ),
    phonePrefix: nullable(Type.String({ description: 'The prefix of phone numbers of the country.' })),
    banks: Type.Array(Choice, { description: 'The `bank` to send is the code.' }),
    lifetimeSeconds: nullable(
      Type.Integer({ description: 'How long the customer has. `null`: until the payment ends.' }),
    ),
  },
  { $id: 'OfferedChannel', examples: [channelExample] },
)
export type OfferedChannel = Type.Static<typeof OfferedChannel>
export const ChannelsAnswer = wholeListOf(ref(OfferedChannel))

export const ChannelsQuery = Type.Object({
  country: Type.String({ format: 'country', description: 'Of the payment, like GH.' }),
  currency: Type.Optional(
    Type.String({ format: 'currency-code', description: 'Absent: all that your integrations take there.' }),
  ),
})
