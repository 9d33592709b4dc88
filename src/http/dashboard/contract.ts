import { type Static, Type } from 'typebox'
import { MODES } from '../../kernel/mode.ts'
import { GRANTED_ROLES, PERMISSIONS, type Permission, ROLES } from '../../members/permissions.ts'
import { CREDENTIAL_SCOPES } from '../../merchants/credential-scopes.ts'
import { nullable } from '../contract/schema.ts'

/** Requests and answers of the dashboard's endpoints. The web application imports their types. */

const oneOf = <Value extends string>(values: readonly Value[]) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values] })
const data = <Schema extends Parameters<typeof Type.Object>[0]>(properties: Schema) =>
  Type.Object({ data: Type.Object(properties) })
const moment = Type.String({ description: 'ISO 8601, UTC' })
const text = (maxLength: number) => Type.String({ maxLength })

const Token = text(100)
const Email = text(254)
const Password = text(1_000)

/**
 * The browser's answer to WebAuthn options, as `@simplewebauthn/browser` returns it. The library checks the content.
 */
const CREDENTIAL = {
  id: text(2_000),
  rawId: text(2_000),
  type: Type.Literal('public-key'),
  clientExtensionResults: Type.Object({}),
  authenticatorAttachment: Type.Optional(oneOf(['cross-platform', 'platform'])),
}
const Registration = Type.Object({
  ...CREDENTIAL,
  response: Type.Object({
    clientDataJSON: text(10_000),
    attestationObject: text(20_000),
    transports: Type.Optional(Type.Array(text(50), { maxItems: 10 })),
  }),
})
const Signature = Type.Object({
  ...CREDENTIAL,
  response: Type.Object({
    clientDataJSON: text(10_000),
    authenticatorData: text(10_000),
    signature: text(10_000),
    userHandle: Type.Optional(text(200)),
  }),
})

export const Proof = Type.Object({
  code: Type.Optional(text(20)),
  recoveryCode: Type.Optional(text(50)),
  passkey: Type.Optional(Signature),
  password: Type.Optional(Password),
})

export const SecondFactorMethod = oneOf(['passkey', 'totp', 'recovery-code'])

/** `second-factor`: the session can do nothing but give the second factor. */
export const SignInAnswer = data({
  state: oneOf(['signed-in', 'second-factor']),
  methods: Type.Array(SecondFactorMethod),
})

export const PasswordSignIn = Type.Object({ email: Email, password: Password })
export const PasskeySignIn = Type.Object({ passkey: Signature })
export const ForgotPassword = Type.Object({ email: Email })

export const LinkToken = Type.Object({ token: Token })
export const LinkAnswer = data({
  kind: oneOf(['welcome', 'invitation', 'reset']),
  email: nullable(Type.String()),
  merchantName: nullable(Type.String()),
  role: nullable(oneOf(ROLES)),
  expiresAt: moment,
})
export const NewAccount = Type.Object({
  token: Token,
  name: text(200),
  email: Type.Optional(Email),
  password: Type.Optional(Password),
  passkey: Type.Optional(Registration),
})
export const NewPassword = Type.Object({ password: Password })
export const ResetPassword = Type.Object({ token: Token, password: Password })

export const SessionAnswer = data({
  state: oneOf(['signed-in', 'second-factor']),
  /** The ways to give a second factor. */
  methods: Type.Array(SecondFactorMethod),
  /** The identity was proved in the last 10 minutes. */
  confirmed: Type.Boolean(),
  /** Null until the second factor is given. */
  member: Type.Unsafe<{ id: string; name: string; email: string; operator: boolean; hasPassword: boolean } | null>({
    type: ['object', 'null'],
    properties: {
      id: { type: 'string' },
      name: { type: 'string' },
      email: { type: 'string' },
      operator: { type: 'boolean' },
      hasPassword: { type: 'boolean' },
    },
  }),
  merchants: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      suspended: Type.Boolean(),
      country: Type.String(),
      /** Of days and times. Null: the browser's. */
      timeZone: nullable(Type.String()),
      role: oneOf(ROLES),
      permissions: Type.Array(oneOf(Object.keys(PERMISSIONS) as Permission[])),
      requireSecondFactor: Type.Boolean(),
      /** The path of an endpoint names one of them. */
      modes: Type.Array(oneOf(MODES)),
    }),
  ),
})
export type SessionAnswer = Static<typeof SessionAnswer>

export const SessionsAnswer = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String(),
      current: Type.Boolean(),
      createdAt: moment,
      lastSeenAt: moment,
      address: Type.String(),
      userAgent: Type.String(),
    }),
  ),
})

export const SecondFactorsAnswer = data({
  password: Type.Boolean(),
  totp: Type.Boolean(),
  recoveryCodesLeft: Type.Integer(),
  passkeys: Type.Array(
    Type.Object({ id: Type.String(), name: Type.String(), createdAt: moment, lastUsedAt: nullable(Type.String()) }),
  ),
})
export const TotpAnswer = data({ secret: Type.String(), address: Type.String() })
export const TotpCode = Type.Object({ code: text(20) })
export const RecoveryCodesAnswer = data({ codes: Type.Array(Type.String()) })
export const NewPasskey = Type.Object({ name: text(200), passkey: Registration })
export const CreatedAnswer = data({ id: Type.String() })

export const MembersAnswer = data({
  requireSecondFactor: Type.Boolean(),
  members: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      email: Type.String(),
      role: oneOf(ROLES),
      secondFactor: Type.Boolean(),
      lastSeenAt: nullable(Type.String()),
    }),
  ),
  invitations: Type.Array(
    Type.Object({ id: Type.String(), email: Type.String(), role: oneOf(ROLES), expiresAt: moment }),
  ),
})
export const NewInvitation = Type.Object({ email: Email, role: oneOf(GRANTED_ROLES) })
/** The link is shown once. `sent`: it is on its way by e-mail, too. */
export const OneTimeLinkAnswer = data({
  id: Type.String(),
  url: Type.String(),
  expiresAt: moment,
  sent: Type.Boolean(),
})
export const NewRole = Type.Object({ role: oneOf(GRANTED_ROLES) })
export type NewRole = Static<typeof NewRole>
export const ResetMember = Type.Object({ secondFactors: Type.Boolean() })
export type ResetMember = Static<typeof ResetMember>
export const NewOwner = Type.Object({ member: text(50) })
export const SecuritySettings = Type.Object({ requireSecondFactor: Type.Boolean() })

export const AuditQuery = Type.Object({
  limit: Type.Optional(Type.String({ format: 'page-size' })),
  cursor: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,14}$' })),
})
export const AuditAnswer = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.Integer(),
      at: moment,
      actor: Type.String(),
      /** The name of the member who did it, if it was one. */
      memberName: nullable(Type.String()),
      address: nullable(Type.String()),
      act: Type.String(),
      subject: Type.String(),
    }),
  ),
  nextCursor: nullable(Type.String()),
})

export const ApiKeysAnswer = Type.Object({
  data: Type.Array(
    Type.Object({
      clientId: Type.String(),
      createdAt: moment,
      lastUsedAt: nullable(Type.String()),
      revokedAt: nullable(Type.String()),
      scopes: Type.Array(oneOf(CREDENTIAL_SCOPES)),
      expiresAt: nullable(Type.String()),
      hasExpired: Type.Boolean(),
      /** Within 14 days. */
      expiresSoon: Type.Boolean(),
      allowedAddresses: Type.Array(Type.String()),
    }),
  ),
})
/** Absent fields do not limit the key. */
export const ApiKeyRequest = Type.Partial(
  Type.Object({
    scopes: Type.Array(oneOf(CREDENTIAL_SCOPES)),
    expiresAt: nullable(Type.String({ format: 'moment' })),
    allowedAddresses: Type.Array(text(100)),
    /** The client-id of a key that ends within 24 hours then. */
    replaces: text(100),
  }),
)
/** The secret is shown once. */
export const NewApiKeyAnswer = data({ clientId: Type.String(), clientSecret: Type.String() })

export const FirstStepsAnswer = data({
  madePayment: Type.Boolean(),
  wasPaid: Type.Boolean(),
  receivedWebhook: Type.Boolean(),
})
