import { renderSVG } from 'uqr'
import { Html, html } from '../../kernel/html.ts'
import { MOBILE_NETWORKS, type MobileNetwork } from '../../kernel/mobile-networks.ts'
import { money, plainAmount } from '../../kernel/money.ts'
import { CHANNEL_ICONS } from './channel-icons.ts'
import { textField } from './field.ts'
import { addTo, all } from './markup.ts'
import { mistakeText } from './method-forms.ts'
import {
  another,
  cancel,
  copyButton,
  countdown,
  earlierNote,
  form,
  type Of,
  row,
  shownNumber,
  type View,
} from './parts.ts'
import { IN_URL } from './screen.ts'

type OutsideScreen = Of<'prompt' | 'code' | 'pay_to' | 'dial' | 'qr' | 'waiting'>

/** Where the network's own menu lists what waits for approval, by country and network. */
const APPROVALS: Record<string, Partial<Record<MobileNetwork, string>>> = { GH: { mtn: '*170#' } }

export function prompt(screen: Of<'prompt'>, view: View): Html {
  const { texts, payment } = view
  const { given, input } = screen
  const menu = input?.network && APPROVALS[payment.country]?.[input.network]
  const ways = [
    texts.noPromptPhone,
    ...(input?.phoneNumber ? [texts.noPromptNumber(shownNumber(input.phoneNumber))] : []),
    ...(given.again ? [given.again] : []),
    ...(menu && input.network ? [texts.noPromptMenu(MOBILE_NETWORKS[input.network], `\u2066${menu}\u2069`)] : []),
  ].map((way) => html`<li>${way}</li>`)
  return html`<div class="state"><span class="mark">${CHANNEL_ICONS['mobile-money']}</span>
<h2 id="heading" tabindex="-1">${texts.prompt}</h2>
<p>${promptText(screen, view)}</p>
${providersWords(given.message, view)}
<p class="note">${countdown(screen.expiresAt, view)}</p></div>
${earlierNote(screen.earlier, view)}
<details class="ask help"><summary>${texts.noPrompt}</summary>
<ul>${all(ways)}</ul>
</details>
${checkAndLeave(screen, view)}`
}

export function promptText({ given, input, amountCharged }: Of<'prompt'>, view: View): string {
  const { texts, show } = view
  const network = input?.network ? MOBILE_NETWORKS[input.network] : undefined
  const sent = texts.promptSent(show(amountCharged), input?.phoneNumber && shownNumber(input.phoneNumber))
  const about = [network && texts.promptFrom(network), given.shownAs && texts.promptShows(given.shownAs)]
  return [sent, ...about, texts.promptApprove].filter(Boolean).join(' ')
}

/** Time is over, and the money can still come: the page does not say that it failed. */
export function waiting(screen: Of<'waiting'>, view: View): Html {
  return html`<div class="state"><span class="spinner" aria-hidden="true"></span>
<h2 id="heading" tabindex="-1">${view.texts.waiting}</h2>
<p>${waitingText(screen, view)}</p>
${screen.isUnsure ? html`<p class="note">${countdown(screen.expiresAt, view)}</p>` : null}</div>
${earlierNote(screen.earlier, view)}
${checkAndLeave(screen, view)}`
}

export function waitingText({ isUnsure, amountCharged }: Of<'waiting'>, { texts, show, merchantName }: View): string {
  return isUnsure ? texts.unsureNote(show(amountCharged)) : texts.waitingNote(merchantName)
}

export function code(screen: Of<'code'>, view: View): Html {
  const { texts, typed } = view
  const refused = typed?.mistakes.find(({ field }) => field === 'code')
  return html`<h2 id="heading" tabindex="-1">${texts.enterCode}</h2>
${earlierNote(screen.earlier, view)}
${providersWords(screen.given.message, view)}
${form(
  view,
  'code',
  html`${textField({
    ...{ id: 'code', name: 'code', label: texts.code, value: typed?.values.code ?? '' },
    attributes: { type: 'text', inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: '32', dir: 'ltr' },
    mistake: refused && mistakeText(refused, texts, view),
    isFirstMistake: refused !== undefined,
  })}
<button class="main">${texts.sendCode}</button>`,
)}
<p class="note">${countdown(screen.expiresAt, view)}</p>
${elsewhere(screen, view)}`
}

export function payTo(screen: Of<'pay_to'>, view: View): Html {
  const { texts, show, payment } = view
  const { given, received, amountCharged } = screen
  const rest = Math.max(0, amountCharged - received)
  const amount = plainAmount(money(rest, payment.currency))
  return html`<h2 id="heading" tabindex="-1">${received > 0 ? texts.partial(show(received), show(amountCharged)) : texts.payTo(show(amountCharged))}</h2>
${received > 0 ? html`<p class="warn">${texts.sendTheRest(show(rest))}</p>` : html`<p>${texts.payToNote}</p>`}
${earlierNote(screen.earlier, view)}
<dl class="rows account">${row(texts, texts.payToNumber, given.number, given.number)}${row(texts, texts.accountNumber, given.account, given.account)}${row(texts, texts.amount, show(rest), amount)}</dl>
<p class="note">${countdown(screen.expiresAt, view)}</p>
${checkAndLeave(screen, view)}`
}

export function dial(screen: Of<'dial'>, view: View): Html {
  const { texts } = view
  const { given } = screen
  return html`<h2 id="heading" tabindex="-1">${texts.dial}</h2>
<p>${texts.dialNote(given.bankName ?? undefined)}</p>
${earlierNote(screen.earlier, view)}
${dialLink(given.code, view)}
${providersWords(given.message, view)}
<p class="note">${countdown(screen.expiresAt, view)}</p>
${checkAndLeave(screen, view)}`
}

/** A `#` ends the number of a `tel:` link, so it is encoded. */
export const telLink = (code: string) => `tel:${code.replaceAll('#', '%23')}`

/**
 * The code, to press on a phone and to read elsewhere. A point in a link only separates digits, and phones leave it
 * out: 100.00 would be dialled as 10000. So a code with a point is no link.
 */
export function dialLink(code: string, { texts }: Pick<View, 'texts'>): Html {
  const shown = html`<bdi dir="ltr">${code}</bdi>`
  const link = code.includes('.') ? shown : html`<a href="${telLink(code)}">${shown}</a>`
  return html`<p class="dial">${link}${copyButton(texts, texts.code, code)}</p>`
}

export function qr(screen: Of<'qr'>, view: View): Html {
  const { texts } = view
  const svg = html`<svg class="qr" role="img" aria-label="${texts.method.qr}" `.text
  const drawn = new Html(renderSVG(screen.given.text, { border: 2 }).replace('<svg ', svg))
  return html`<div class="state"><h2 id="heading" tabindex="-1">${texts.scan}</h2>
${earlierNote(screen.earlier, view)}
<p>${texts.scanNote}</p>
${drawn}
<p class="note">${countdown(screen.expiresAt, view)}</p></div>
${checkAndLeave(screen, view)}`
}

/** In the sandbox they end with "Answer for the customer at …": the page on which a tester acts. */
function providersWords(message: string | undefined, { payment }: View): Html | null {
  if (!message) return null
  const acting = payment.mode === 'sandbox' ? /^(.+\.) (.+) at (https?:\/\/\S+)$/.exec(message) : null
  if (!acting) return html`<p class="note"><bdi>${message}</bdi></p>`
  const [, words, act, address] = acting
  return html`<p class="note"><bdi>${words}</bdi></p>
<a class="button quiet" href="${address}" target="_blank" rel="noopener"><bdi>${act}</bdi></a>`
}

function checkAndLeave(screen: OutsideScreen, view: View): Html {
  return html`${form(view, 'check', html`<button class="main">${view.texts.checkNow}</button>`)}
${elsewhere(screen, view)}`
}

/** Another number or bank, another method, or none. */
function elsewhere(screen: OutsideScreen, view: View): Html {
  const { channel, choices } = screen
  const again = againText(screen, view)
  return html`${
    again &&
    html`<a class="button quiet" href="${addTo(view.here, `method=${IN_URL[channel]}`)}" data-panel>${again}</a>`
  }
${another(channel, choices, view)}
${cancel(view)}`
}

function againText(screen: OutsideScreen, { texts }: View): string | undefined {
  switch (screen.state) {
    case 'prompt':
    case 'code':
      return texts.useAnotherNumber
    case 'dial':
      return screen.input?.bank && texts.chooseBank
    case 'waiting':
      return screen.isUnsure ? texts.useAnotherNumber : texts.tryAgain
    case 'pay_to':
    case 'qr':
      return undefined
  }
}
