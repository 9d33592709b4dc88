import type { Clock } from '../../kernel/clock.ts'
import { type PaymentId, parseId } from '../../kernel/ids.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'

/** Something sealed that names a payment until its time is over. One of a kind does not open where another is asked for. */
interface Kind {
  prefix: string
  place: string
  lifetimeMs: number
}

const MINUTES_MS = 60_000
const EMBED: Kind = { prefix: 'emb_', place: 'embed', lifetimeMs: 24 * 60 * MINUTES_MS }
// The merchant's own server asked for this page with a widget token, so its customer may cancel.
const EMBED_BY_TOKEN: Kind = { prefix: 'emt_', place: 'embed by token', lifetimeMs: 24 * 60 * MINUTES_MS }
// Long enough to press a button and to find a signal, too short to be passed around.
const WIDGET_TOKEN: Kind = { prefix: 'wgt_', place: 'widget token', lifetimeMs: 15 * MINUTES_MS }

/**
 * Stands for a payment's id in the widget's frame. Whoever knows a reference gets one, so it must not lead to the real link: it is
 * sealed, it is another one each time, and a day later it is nothing.
 */
export function embedId(secrets: SecretBox, paymentId: PaymentId, now: Date): string {
  return seal(secrets, EMBED, paymentId, now).text
}

/** The same for a widget that was opened with a valid token. */
export function tokenEmbedId(secrets: SecretBox, paymentId: PaymentId, now: Date): string {
  return seal(secrets, EMBED_BY_TOKEN, paymentId, now).text
}

/** The payment that it stands for, until its time is over; undefined for anything else, however long or odd. */
export function readEmbedId(secrets: SecretBox, text: string, now: Date): PaymentId | undefined {
  return unseal(secrets, EMBED, text, now)
}

/** Says that the merchant's own server wants this payment opened: what a strict widget asks for besides the reference. */
export function widgetToken(secrets: SecretBox, paymentId: PaymentId, now: Date): { token: string; expiresAt: Date } {
  const { text, until } = seal(secrets, WIDGET_TOKEN, paymentId, now)
  return { token: text, expiresAt: until }
}

/** The one payment that it is good for, until its time is over; undefined for anything else. */
export function readWidgetToken(secrets: SecretBox, text: string, now: Date): PaymentId | undefined {
  return unseal(secrets, WIDGET_TOKEN, text, now)
}

function seal(secrets: SecretBox, kind: Kind, paymentId: PaymentId, now: Date): { text: string; until: Date } {
  const until = new Date(now.getTime() + kind.lifetimeMs)
  const sealed = secrets.seal(`${paymentId} ${until.getTime()}`, kind.place)
  return { text: kind.prefix + sealed.toString('base64url'), until }
}

function unseal(secrets: SecretBox, { prefix, place }: Kind, text: string, now: Date): PaymentId | undefined {
  const sealed = text.slice(prefix.length)
  if (!text.startsWith(prefix) || !/^[\w-]{60,120}$/.test(sealed)) return undefined
  try {
    const [id = '', until] = secrets.open(Buffer.from(sealed, 'base64url'), place).split(' ')
    return now.getTime() < Number(until) ? parseId('payment', id) : undefined
  } catch {
    return undefined // not ours, or altered
  }
}

export interface PageAddress {
  id: PaymentId
  /** Opened without the link: nothing private is shown and no saved card is used. */
  bare: boolean
  /** Opened with the link or with a widget token. A client-id and a reference are public, so they cannot cancel. */
  mayCancel: boolean
}

/** The payment that a page's address names, and what its visitor may do. */
export function pageOf(
  { secrets, clock }: { secrets: SecretBox; clock: Clock },
  text: string,
): PageAddress | undefined {
  const known = parseId('payment', text)
  if (known) return { id: known, bare: false, mayCancel: true }
  const now = clock.now()
  const byToken = unseal(secrets, EMBED_BY_TOKEN, text, now)
  if (byToken) return { id: byToken, bare: true, mayCancel: true }
  const id = readEmbedId(secrets, text, now)
  return id && { id, bare: true, mayCancel: false }
}
