import { OperatorError } from '../kernel/operator-error.ts'
import type { NewCredential } from '../merchants/credential.ts'

/**
 * Calls the API of the running service as a merchant's backend. Returns `data`; throws an OperatorError for an error
 * response.
 */
// biome-ignore lint/suspicious/noExplicitAny: the API's own contract defines the shape of each response
export type Api = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<any>

const TIMEOUT_MS = 35_000
const METRICS_TIMEOUT_MS = 5_000

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
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: Error) => {
      const why = (error.cause as Error | undefined)?.message || error.message
      throw new OperatorError(
        `No service answers at ${baseUrl} (${why}). Start it with npm start, or set --url to the running one.`,
      )
    })
    const answer = (await response.json().catch(() => ({}))) as Refusal & { data?: unknown }
    if (response.ok) return answer.data
    if (response.status === 401)
      throw new OperatorError(
        `The service at ${baseUrl} refuses the sandbox credentials of DATA_DIR. Check DATA_DIR and --url.`,
      )
    const said = [answer.detail ?? answer.error?.message, ...(answer.errors ?? []).map(wordsOf)].filter(Boolean)
    throw new OperatorError(`${method} ${path} was refused with ${response.status}: ${said.join(' ')}`)
  }
}

/** The metrics of the running service, as text. Undefined: none answers. */
export async function readMetrics(serverUrl: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${serverUrl}/metrics`, { signal: AbortSignal.timeout(METRICS_TIMEOUT_MS) })
    const text = await response.text()
    return response.ok && text.includes('manilla_') ? text : undefined
  } catch {
    return undefined
  }
}

/** A problem document, or an error of the sandbox provider. */
interface Refusal {
  detail?: string
  errors?: { pointer: string; message: string }[]
  error?: { message: string }
}

function wordsOf({ pointer, message }: { pointer: string; message: string }): string {
  return `${pointer}: ${message}`
}
