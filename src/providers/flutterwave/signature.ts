import { createHash, timingSafeEqual } from 'node:crypto'
import type { RawNotice } from '../provider.ts'

/**
 * Why a notice is not to be believed; undefined when it comes from somebody who knows the secret hash.
 *
 * `verif-hash` is that secret itself, sent along: it covers neither the body nor the time. So what a notice says is never taken for true:
 * it is a reason to ask, and the answer counts.
 */
export function findForgery(secretHash: string, { headers }: RawNotice): string | undefined {
  const said = headers['verif-hash']
  if (!said) return 'no verif-hash'
  // Digests are of one length, so that not even the length of the secret can be felt.
  return timingSafeEqual(digest(said), digest(secretHash)) ? undefined : 'a wrong verif-hash'
}

const digest = (text: string) => createHash('sha256').update(text).digest()
