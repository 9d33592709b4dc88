import { ApiError, Cancelled, send } from '../api.ts'

/** Loaded on demand: most visits need no passkey after the sign-in. */
const library = () => import('@simplewebauthn/browser')

export const canUsePasskeys = () => 'PublicKeyCredential' in window

/** Signs the challenge of `{endpoint}/passkey-options`. */
export async function signWithPasskey(endpoint: string) {
  const [{ startAuthentication }, optionsJSON] = await Promise.all([
    library(),
    send<Parameters<typeof import('@simplewebauthn/browser').startAuthentication>[0]['optionsJSON']>(
      'POST',
      `${endpoint}/passkey-options`,
    ),
  ])
  return startAuthentication({ optionsJSON }).catch(explain)
}

/** Creates a passkey with the options of an endpoint. */
export async function createPasskey(optionsEndpoint: string, body?: unknown) {
  const [{ startRegistration }, optionsJSON] = await Promise.all([
    library(),
    send<Parameters<typeof import('@simplewebauthn/browser').startRegistration>[0]['optionsJSON']>(
      'POST',
      optionsEndpoint,
      body,
    ),
  ])
  return startRegistration({ optionsJSON }).catch(explain)
}

function explain(error: Error): never {
  if (error.name === 'AbortError') throw new Cancelled()
  const detail =
    error.name === 'NotAllowedError'
      ? 'The passkey was not used: the request was closed or took too long. Try again.'
      : error.name === 'InvalidStateError'
        ? 'This device has a passkey for this account already.'
        : `This browser could not use a passkey: ${error.message}`
  throw new ApiError(400, { code: 'passkey_failed', detail })
}
