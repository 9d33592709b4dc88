import type { Clock } from '../../kernel/clock.ts'
import { type PaymentId, parseId } from '../../kernel/ids.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'

/**
 * A sealed (encrypted and authenticated) payment id with an expiry time. One kind cannot be used in place of another.
 */
interface Kind {
  prefix: string
  context: string
  lifetimeMs: number
}

const MINUTES_MS = 60_000
const EMBED: Kind = { prefix: 'emb_', context: 'embed', lifetimeMs: 24 * 60 * MINUTES_MS }
// Requested with a widget token of the merchant's server, so the customer may cancel.
const EMBED_BY_TOKEN: Kind = { prefix: 'emt_', context: 'embed by token', lifetimeMs: 24 * 60 * MINUTES_MS }
// The way back from the provider's page to a payment whose attempt was not started by reference.
const EMBED_AFTER_RETURN: Kind = { prefix: 'emr_', context: 'embed after return', lifetimeMs: 24 * 60 * MINUTES_MS }
// Long enough to open the widget on a slow network, too short to be shared.
const WIDGET_TOKEN: Kind = { prefix: 'wgt_', context: 'widget token', lifetimeMs: 15 * MINUTES_MS }

/**
 * Replaces the payment id in the widget's URL. A reference is public, so this id must not reveal the payment's link:
 * it is sealed, differs each time and expires after a day.
 */
export function embedId(secrets: SecretBox, paymentId: PaymentId, now: Date): string {
  return seal(secrets, EMBED, paymentId, now).text
}

/** The same for a widget that was opened with a valid widget token. */
export function tokenEmbedId(secrets: SecretBox, paymentId: PaymentId, now: Date): string {
  return seal(secrets, EMBED_BY_TOKEN, paymentId, now).text
}

/**
 * The same for a customer who returns from an attempt that was not started by reference. It does not allow cancelling:
 * a page opened by reference shows the provider's page of such an attempt too, so a stranger can return from it.
 */
export function returnEmbedId(secrets: SecretBox, paymentId: PaymentId, now: Date): string {
  return seal(secrets, EMBED_AFTER_RETURN, paymentId, now).text
}

/** The payment of an embed id; undefined if the text is invalid or expired. */
export function readEmbedId(secrets: SecretBox, text: string, now: Date): PaymentId | undefined {
  return unseal(secrets, EMBED, text, now)
}

/**
 * Proves that the merchant's server wants this payment opened. Merchants in strict mode require it besides the
 * reference.
 */
export function widgetToken(secrets: SecretBox, paymentId: PaymentId, now: Date): { token: string; expiresAt: Date } {
  const { text, until } = seal(secrets, WIDGET_TOKEN, paymentId, now)
  return { token: text, expiresAt: until }
}

/** The payment of a widget token; undefined if the text is invalid or expired. */
export function readWidgetToken(secrets: SecretBox, text: string, now: Date): PaymentId | undefined {
  return unseal(secrets, WIDGET_TOKEN, text, now)
}

function seal(secrets: SecretBox, kind: Kind, paymentId: PaymentId, now: Date): { text: string; until: Date } {
  const until = new Date(now.getTime() + kind.lifetimeMs)
  const sealed = secrets.seal(`${paymentId} ${until.getTime()}`, kind.context)
  return { text: kind.prefix + sealed.toString('base64url'), until }
}

function unseal(secrets: SecretBox, { prefix, context }: Kind, text: string, now: Date): PaymentId | undefined {
  const sealed = text.slice(prefix.length)
  if (!text.startsWith(prefix) || !/^[\w-]{60,120}$/.test(sealed)) return undefined
  try {
    const [id = '', until] = secrets.open(Buffer.from(sealed, 'base64url'), context).split(' ')
    return now.getTime() < Number(until) ? parseId('payment', id) : undefined
  } catch {
    return undefined // sealed with another key, or altered
  }
}

export interface PageAddress {
  id: PaymentId
  /** Opened without the link: nothing private is shown and no saved card is used. */
  bare: boolean
  /**
   * Opened with the link or with a widget token. A client-id and a reference are public, so a page opened with them
   * cannot cancel.
   */
  mayCancel: boolean
  /** Opened by client-id and reference alone: it may start fewer attempts, see MAX_ATTEMPTS_BY_REFERENCE. */
  byReference: boolean
}

/** Resolves the id in a page's URL to a payment and to the visitor's permissions. */
export function pageOf(
  { secrets, clock }: { secrets: SecretBox; clock: Clock },
  text: string,
): PageAddress | undefined {
  const known = parseId('payment', text)
  if (known) return { id: known, bare: false, mayCancel: true, byReference: false }
  const now = clock.now()
  const byToken = unseal(secrets, EMBED_BY_TOKEN, text, now)
  if (byToken) return { id: byToken, bare: true, mayCancel: true, byReference: false }
  const returned = unseal(secrets, EMBED_AFTER_RETURN, text, now)
  if (returned) return { id: returned, bare: true, mayCancel: false, byReference: false }
  const id = readEmbedId(secrets, text, now)
  return id && { id, bare: true, mayCancel: false, byReference: true }
}
