import { OperatorError } from '../kernel/operator-error.ts'
import type { NewCredential } from '../merchants/credential.ts'

/** Calls the running service as a merchant's backend would. Answers with `data`; a refusal is told in its own words. */
// biome-ignore lint/suspicious/noExplicitAny: an answer is what the API's contract says it is; this is its client, not its judge
export type Api = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<any>

const ANSWERS_WITHIN_MS = 35_000

export function apiOf(baseUrl: string, { clientId, clientSecret }: NewCredential): Api {
  return async (method, path, body) => {
    const response = await fetch(baseUrl.replace(/\/+$/, '') + path, {
      method,
      headers: {
        'client-id': clientId,
        'client-secret': clientSecret,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    }).catch((error: Error) => {
      const why = (error.cause as Error | undefined)?.message || error.message
      throw new OperatorError(
        `No service answers at ${baseUrl} (${why}). Start it with npm start, or name the running one with --url.`,
      )
    })
    const answer = (await response.json().catch(() => ({}))) as Refusal & { data?: unknown }
    if (response.ok) return answer.data
    if (response.status === 401)
      throw new OperatorError(
        `The service at ${baseUrl} does not know our sandbox credentials: is it that of DATA_DIR?`,
      )
    const said = [answer.detail ?? answer.error?.message, ...(answer.errors ?? []).map(wordsOf)].filter(Boolean)
    throw new OperatorError(`${method} ${path} was refused with ${response.status}: ${said.join(' ')}`)
  }
}

/** Ours is a problem; that of a sandbox provider has a shape of its own. */
interface Refusal {
  detail?: string
  errors?: { pointer: string; message: string }[]
  error?: { message: string }
}

function wordsOf({ pointer, message }: { pointer: string; message: string }): string {
  return `${pointer}: ${message}`
}
