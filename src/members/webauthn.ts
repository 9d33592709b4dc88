import { randomBytes } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { type MemberId, newId, uuidOf } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { digestOf } from '../merchants/credential.ts'
import type { MemberDeps } from './deps.ts'
import { findPasskey, type Passkey, recordPasskeyUse, type UsedChallenge, useChallenge } from './factor-store.ts'

type Deps = Pick<MemberDeps, 'database' | 'clock' | 'secrets' | 'baseUrl'>

/** What a challenge is for. A signature that was made for one purpose is refused for every other. */
export type ChallengePurpose = 'sign-in' | `second-factor ${string}` | `step-up ${string}` | `register ${MemberId}`

const CHALLENGE_SECONDS = 300
/** EdDSA, ES256 and RS256: what authenticators have. */
const ALGORITHMS = [-8, -7, -257]

/** Loaded lazily: the library takes a quarter of a second, and not every process needs it. */
const library = () => import('@simplewebauthn/server')

function siteOf({ baseUrl }: Deps): { origin: string; host: string } {
  const { origin, hostname } = new URL(baseUrl())
  return { origin, host: hostname }
}

/**
 * A challenge is `{expiry}.{random}.{HMAC over both and the purpose}`, so that unauthenticated requests store nothing.
 * The digest of a challenge is stored when its signature is accepted.
 */
function newChallenge({ clock, secrets }: Deps, purpose: ChallengePurpose): string {
  const expiry = Math.floor(clock.now().getTime() / 1000) + CHALLENGE_SECONDS
  const signed = `${expiry}.${randomBytes(24).toString('base64url')}`
  return `${signed}.${secrets.sign(signed, `passkey ${purpose}`)}`
}

/** A valid challenge, known by what we signed: base64url and the parts after the signature have several spellings. */
function readChallenge(
  { clock, secrets }: Deps,
  purpose: ChallengePurpose,
  encoded: string,
): UsedChallenge | undefined {
  const [expiry = '', random = '', signature = ''] = Buffer.from(encoded, 'base64url').toString().split('.')
  const signed = `${expiry}.${random}`
  const expiresAt = new Date(Number(expiry) * 1000)
  const isOurs = secrets.verify(signature, signed, `passkey ${purpose}`)
  return isOurs && expiresAt > clock.now() ? { digest: digestOf(signed), expiresAt } : undefined
}

export async function registrationOptions(
  deps: Deps,
  member: { id: MemberId; email: string; name: string },
  known: Passkey[],
) {
  const { generateRegistrationOptions } = await library()
  return generateRegistrationOptions({
    rpName: 'Manilla',
    rpID: siteOf(deps).host,
    userName: member.email,
    userDisplayName: member.name,
    userID: new Uint8Array(Buffer.from(uuidOf(member.id).replaceAll('-', ''), 'hex')),
    challenge: newChallenge(deps, `register ${member.id}`),
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

/** The new passkey of a member, before it is stored. */
export async function readRegistration(
  deps: Deps,
  memberId: MemberId,
  { response, name }: { response: RegistrationResponseJSON; name: string },
): Promise<Omit<Passkey, 'createdAt' | 'lastUsedAt'>> {
  const { verifyRegistrationResponse } = await library()
  const { origin, host } = siteOf(deps)
  let challenge: UsedChallenge | undefined
  const verified = await verifyRegistrationResponse({
    response,
    expectedChallenge: (text) => {
      challenge = readChallenge(deps, `register ${memberId}`, text)
      return challenge !== undefined
    },
    expectedOrigin: origin,
    expectedRPID: host,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => undefined)
  if (!verified?.verified || !challenge || !(await useChallenge(deps.database, challenge)))
    throw new Problem('sign_in_refused', 'The passkey was not accepted: it is for another site, or it took too long.')
  const { credential } = verified.registrationInfo
  return {
    id: newId('passkey', deps.clock.now()),
    memberId,
    credentialId: credential.id,
    publicKey: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports: credential.transports ?? [],
    name,
  }
}

/** Without passkeys the browser offers those that it has for this site, so that no account is named. */
export async function signatureOptions(deps: Deps, purpose: ChallengePurpose, passkeys: Passkey[] = []) {
  const { generateAuthenticationOptions } = await library()
  return generateAuthenticationOptions({
    rpID: siteOf(deps).host,
    challenge: newChallenge(deps, purpose),
    userVerification: 'required',
    allowCredentials: passkeys.map(({ credentialId, transports }) => ({ id: credentialId, transports })),
  })
}

/** The passkey that made the signature. Undefined when the signature is wrong, too old, or was used before. */
export async function verifySignature(
  deps: Deps,
  purpose: ChallengePurpose,
  response: AuthenticationResponseJSON,
): Promise<Passkey | undefined> {
  const passkey = await findPasskey(deps.database, response.id)
  if (!passkey) return undefined
  const { verifyAuthenticationResponse } = await library()
  const { origin, host } = siteOf(deps)
  let challenge: UsedChallenge | undefined
  const verified = await verifyAuthenticationResponse({
    response,
    expectedChallenge: (text) => {
      challenge = readChallenge(deps, purpose, text)
      return challenge !== undefined
    },
    expectedOrigin: origin,
    expectedRPID: host,
    credential: {
      id: passkey.credentialId,
      publicKey: new Uint8Array(passkey.publicKey),
      counter: passkey.counter,
      transports: passkey.transports,
    },
    requireUserVerification: true,
  }).catch(() => undefined)
  if (!verified?.verified || !challenge) return undefined
  const use = { counter: verified.authenticationInfo.newCounter, challenge: challenge as UsedChallenge }
  const isFirstUse = await deps.database.transaction((tx) => recordPasskeyUse(tx, passkey.id, use))
  return isFirstUse ? passkey : undefined
}
