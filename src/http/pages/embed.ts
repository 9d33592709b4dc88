import type { Clock } from '../../kernel/clock.ts'
import { type PaymentId, parseId } from '../../kernel/ids.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'

const PREFIX = 'emb_'
const PLACE = 'embed'
const HOURS_MS = 3_600_000
const LIFETIME_MS = 24 * HOURS_MS

/**
 * Stands for a payment's id in the widget's frame. Whoever knows a reference gets one, so it must not lead to the real link: it is
 * sealed, it is another one each time, and a day later it is nothing.
 */
export function embedId(secrets: SecretBox, paymentId: PaymentId, now: Date): string {
  const until = now.getTime() + LIFETIME_MS
  return PREFIX + secrets.seal(`${paymentId} ${until}`, PLACE).toString('base64url')
}

/** The payment that it stands for, until its time is over; undefined for anything else, however long or odd. */
export function readEmbedId(secrets: SecretBox, text: string, now: Date): PaymentId | undefined {
  if (!/^emb_[\w-]{60,120}$/.test(text)) return undefined
  const [id = '', until] = unseal(secrets, text.slice(PREFIX.length)).split(' ')
  return now.getTime() < Number(until) ? parseId('payment', id) : undefined
}

function unseal(secrets: SecretBox, text: string): string {
  try {
    return secrets.open(Buffer.from(text, 'base64url'), PLACE)
  } catch {
    return '' // not ours, or altered
  }
}

/** The payment that a page's address names. Whoever has only a stand-in for it is shown nothing private: `bare`. */
export function pageOf(
  { secrets, clock }: { secrets: SecretBox; clock: Clock },
  text: string,
): { id: PaymentId; bare: boolean } | undefined {
  const known = parseId('payment', text)
  if (known) return { id: known, bare: false }
  const id = readEmbedId(secrets, text, clock.now())
  return id && { id, bare: true }
}
