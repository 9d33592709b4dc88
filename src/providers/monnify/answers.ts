import type { ProviderAnswer, Unknown } from '../provider.ts'
import { readEnvelope } from './wire.ts'

export type Reading<T> = { kind: 'good'; body: T } | { kind: 'refused'; code: string; status: number } | Unknown

/** A refusal is in their own envelope, whatever the status: HTTP 200 may carry one. */
export function read<T>(answer: ProviderAnswer, readBody: (body: unknown) => T | undefined): Reading<T> {
  if (answer.kind === 'unknown') return withoutKeys(answer)
  const { status, text } = answer
  const said = readEnvelope(text)
  if (said?.kind === 'error' && [200, 400, 403, 404, 422].includes(status))
    return { kind: 'refused', code: said.code, status }
  const body = said?.kind === 'good' && (status === 200 || status === 201) ? readBody(said.body) : undefined
  return body === undefined ? unreadable(status) : { kind: 'good', body }
}

/** What only a start call tells on: see `Declined.keysRefused`. */
function withoutKeys({ kind, because, neverSent, errorStatus }: Unknown): Unknown {
  return { kind, because, ...(errorStatus && { errorStatus }), ...(neverSent && { neverSent }) }
}

export const isMissing = (answer: ProviderAnswer) =>
  answer.kind === 'answer' && answer.status === 404 && readEnvelope(answer.text)?.kind === 'error'

export const unknown = (because: string): Unknown => ({ kind: 'unknown', because })
export const unreadable = (status: number): Unknown => unknown(`it answered ${status} with what we cannot read`)
