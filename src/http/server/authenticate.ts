import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import type { VerifyCredential } from '../../merchants/verify-credential.ts'
import type { Limits } from './limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated merchant and mode. Set on every route behind `authentication`. */
    caller: Caller
  }
}

const MAX_ID_LENGTH = 200
const ID_PREFIX = 'cid_'
const SECRET_PREFIX = 'sec_'

/** Runs before the rest of the request is read. */
export function authentication(verify: VerifyCredential, limits: Limits, onWrong: () => void) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const clientId = header(request, 'client-id')
    const clientSecret = header(request, 'client-secret')

    function admit(caller: Caller | undefined): void {
      if (!caller) {
        onWrong()
        limits.wrongCredentials(request, clientId.slice(0, MAX_ID_LENGTH))
        throw refusal(clientId, clientSecret)
      }
      const { scope } = request.routeOptions.config
      if (!scope) throw new Error(`${request.routeOptions.url} has no scope`)
      // Before its rate limit: a stolen secret must not use up the calls of the addresses that are allowed.
      caller.checkUse?.(scope, request)
      limits.call(reply, caller.mode, clientId)
      if (caller.suspended) {
        throw new Problem(
          'merchant_suspended',
          'This merchant is suspended. Ask the operator of this service to lift it.',
        )
      }
      request.caller = caller
    }

    // bounds the memory that unknown callers can use
    const plausible = clientId !== '' && clientSecret !== '' && clientId.length <= MAX_ID_LENGTH
    let refused: Error | undefined
    try {
      const found = plausible ? verify(clientId, clientSecret) : undefined
      if (found instanceof Promise) {
        found.then(admit).then(() => done(), done)
        return
      }
      admit(found)
    } catch (error) {
      refused = error as Error
    }
    done(refused)
  }
}

function header(request: FastifyRequest, name: string): string {
  const value = request.headers[name]
  return typeof value === 'string' ? value : ''
}

// Unknown, wrong and revoked credentials get the same answer, so that client-ids cannot be probed.
function refusal(clientId: string, clientSecret: string): Problem {
  const missing = [!clientId && 'client-id', !clientSecret && 'client-secret'].filter(Boolean)
  if (missing.length > 0) {
    return new Problem(
      'invalid_credentials',
      `Send the headers client-id and client-secret; missing: ${missing.join(', ')}.`,
    )
  }
  const wrong = 'The client-id and client-secret are not those of a merchant here.'
  // By their beginnings alone, which are public.
  const areSwapped = clientId.startsWith(SECRET_PREFIX) || clientSecret.startsWith(ID_PREFIX)
  const hint = ` A client-id begins with ${ID_PREFIX} and a client-secret with ${SECRET_PREFIX}: they look swapped.`
  return new Problem('invalid_credentials', areSwapped ? wrong + hint : wrong)
}
