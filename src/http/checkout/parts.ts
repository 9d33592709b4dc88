import type { Channel } from '../../kernel/channel.ts'
import { type Html, html } from '../../kernel/html.ts'
import { maskPhoneNumber } from '../../kernel/phone-number.ts'
import type { Payment } from '../../payments/state/payment.ts'
import { addTo, all } from './markup.ts'
import type { Typed } from './method-input.ts'
import { type Earlier, IN_URL, type Method, type MethodChoices, type Screen, type State } from './screen.ts'
import type { Texts } from './texts/texts.ts'

/** Input of every view besides the screen. */
export interface View {
  texts: Texts
  payment: Payment
  /** Formats an amount of the payment's currency: ₦12,500.00. */
  show(minor: number): string
  merchantName: string
  /** The page's URL with the query parameters to keep. */
  here: string
  /** CSRF token (HMAC over the payment id) and idempotency key of each form. */
  token: string
  key: string
  /** Embedded in a shop's page: no link leaves the frame. */
  embedded: boolean
  returnTo: string | undefined
  returnAfterSeconds: number | null
  mayCancel: boolean
  /** Whether this provider allows its page in our frame. */
  mayFrame(provider: string): boolean
  /** What is filled into the form of mobile money. Empty on a page that was opened without the link. */
  known: KnownInput
  /** A form with mistakes that was just sent. */
  typed: Typed | undefined
  /** Of a paid payment, if the merchant wants receipts. */
  receipt?: Html | undefined
  now: Date
}

export interface KnownInput {
  phoneNumber?: string
  network?: string
}

export type Of<S extends State> = Extract<Screen, { state: S }>

/** The shown price, so that the customer is never charged more than the page showed. */
export function shownTotal(method: Method | undefined): Html | null {
  return method ? html`<input type="hidden" name="total" value="${method.amountCharged}">` : null
}

/** Remaining time rather than a time of day: the phone's clock may be wrong. */
export function countdown(expiresAt: Date | null, { texts, now }: View): Html | null {
  if (!expiresAt) return null
  const left = Math.ceil((expiresAt.getTime() - now.getTime()) / 1000)
  if (left <= 0) return null
  const say = [10, 5, 1].map((minutes) => html` data-say-${minutes}="${texts.minutesLeft(minutes)}"`)
  const minutes = Math.floor(left / 60)
  return html`${texts.expiresIn} <bdi role="timer" class="timer" data-left="${left}"${all(say)}>${minutes}:${String(left % 60).padStart(2, '0')}</bdi>`
}

export function copyButton(texts: Texts, what: string, value: string): Html {
  return html` <button type="button" class="copy" data-copy="${value}" data-copied="${texts.copied}" aria-label="${texts.copyOf(what)}">${texts.copy}</button>`
}

/** Said before the page invites to pay a second time. */
export function earlierNote(earlier: Earlier | undefined, { texts }: Pick<View, 'texts'>): Html | null {
  return earlier ? html`<p class="warn">${earlierText(earlier, texts)}</p>` : null
}

export function earlierText({ kind, phoneNumber }: Earlier, texts: Texts): string {
  return kind === 'prompt' ? texts.earlierPrompt(phoneNumber && shownNumber(phoneNumber)) : texts.earlierOther
}

/** Masked, and left to right in every language. */
export function shownNumber(phoneNumber: string): string {
  return `\u2066${maskPhoneNumber(phoneNumber)}\u2069`
}

/** A label and its value, with a button that copies it. */
export function row(texts: Texts, label: string, shown: string, copied?: string): Html {
  return html`<div><dt>${label}</dt><dd><bdi>${shown}</bdi>${copied === undefined ? null : copyButton(texts, label, copied)}</dd></div>`
}

export function another(channel: Channel, { methods }: MethodChoices, { texts, here }: View): Html | null {
  const other = methods.find((method) => method.channel !== channel)
  return other
    ? html`<a class="button quiet" href="${addTo(here, `method=${IN_URL[other.channel]}`)}" data-panel>${texts.useAnotherMethod}</a>`
    : null
}

/** Asks before it cancels. A details element does so without scripts. */
export function cancel(view: View): Html | null {
  if (!view.mayCancel) return null
  const { texts } = view
  return html`<details class="ask"><summary>${texts.cancel}</summary>
<p><strong>${texts.cancelQuestion}</strong> ${texts.cancelNote}</p>
<div class="pair"><button type="button" class="quiet js" data-keep>${texts.keepPaying}</button>${form(view, 'cancel', html`<button class="quiet">${texts.stop}</button>`)}</div>
</details>`
}

type Action = 'pay' | 'code' | 'new-account' | 'check' | 'cancel' | 'receipt'

export function form({ here, token, key }: Pick<View, 'here' | 'token' | 'key'>, action: Action, inside: Html): Html {
  return html`<form method="post" action="${here}"><input type="hidden" name="action" value="${action}"><input type="hidden" name="token" value="${token}"><input type="hidden" name="key" value="${key}">
${inside}
</form>`
}
