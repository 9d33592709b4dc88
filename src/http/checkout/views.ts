import type { Channel } from '../../kernel/channel.ts'
import { Html, html } from '../../kernel/html.ts'
import type { FailureCode } from '../../providers/provider.ts'
import { addTo, attributes, flag } from './markup.ts'
import { choose } from './method-forms.ts'
import { code, dial, payTo, prompt, promptText, qr, waiting, waitingText } from './outside-screens.ts'
import { another, cancel, earlierNote, earlierText, form, type Of, row, shownTotal, type View } from './parts.ts'
import { IN_URL, type Screen } from './screen.ts'
import type { Texts } from './texts/texts.ts'
import { accountExpired, awaiting, checking, partialText } from './transfer-screens.ts'

/** The part of the page that changes with the state. It is complete HTML, so the page works without scripts. */
export function panel(screen: Screen, view: View): Html {
  const { payment } = view
  return html`<main id="panel" data-state="${screen.state}" data-version="${payment.sequence}" data-status="${payment.status}"${flag('data-at-stake', isAtStake(screen))}${attributes(
    { 'data-speak': spoken(screen, view), ...leaving(screen, view) },
  )}>
${body(screen, view)}
</main>`
}

/** Money may move without this page, so the widget asks before it closes. */
function isAtStake({ state }: Screen): boolean {
  switch (state) {
    case 'processing':
    case 'provider':
    case 'checking':
    case 'partial':
    case 'confirming':
    case 'prompt':
    case 'code':
    case 'pay_to':
    case 'dial':
    case 'qr':
    case 'waiting':
      return true
    case 'choose':
    case 'awaiting':
    case 'failed':
    case 'succeeded':
    case 'already_paid':
    case 'cancelled':
    case 'expired':
    case 'account_expired':
    case 'unpayable':
      return false
  }
}

function body(screen: Screen, view: View): Html {
  switch (screen.state) {
    case 'choose':
      return choose(screen, view)
    case 'processing':
      return processing(view.texts)
    case 'provider':
      return provider(screen, view)
    case 'awaiting':
    case 'partial':
      return awaiting(screen, view)
    case 'checking':
      return checking(screen, view)
    case 'prompt':
      return prompt(screen, view)
    case 'code':
      return code(screen, view)
    case 'pay_to':
      return payTo(screen, view)
    case 'dial':
      return dial(screen, view)
    case 'qr':
      return qr(screen, view)
    case 'waiting':
      return waiting(screen, view)
    case 'failed':
      return failed(screen, view)
    case 'confirming':
      return confirming(view)
    case 'succeeded':
    case 'already_paid':
      return paid(screen, view)
    case 'cancelled':
      return ended(view, '×', view.texts.cancelled, whatCameIn(view, screen.mayBePaid))
    case 'expired':
      return ended(view, '!', view.texts.expired, view.texts.expiredNote(view.merchantName))
    case 'account_expired':
      return accountExpired(screen, view)
    case 'unpayable':
      return ended(view, '!', view.texts.unpayable, view.texts.unpayableNote(view.merchantName))
  }
}

/** Text for screen readers when the state appears. */
export function spoken(screen: Screen, view: View): string | undefined {
  const { texts, merchantName } = view
  switch (screen.state) {
    case 'choose':
      return screen.earlier && earlierText(screen.earlier, texts)
    case 'processing':
      return `${texts.processing}.`
    case 'provider':
      return providerWords(screen, view).note
    case 'awaiting':
      return texts.detailsShown
    case 'checking':
      return `${texts.checking}.`
    case 'partial':
      return partialText(screen.account, view)
    case 'prompt':
      return `${texts.prompt}. ${promptText(screen, view)}`
    case 'code':
      return `${texts.enterCode}. ${screen.given.message}`
    case 'pay_to':
      return texts.payTo(view.show(screen.amountCharged))
    case 'dial':
      return `${texts.dial}.`
    case 'qr':
      return `${texts.scan}.`
    case 'waiting':
      return `${texts.waiting}. ${waitingText(screen, view)}`
    case 'failed':
      return `${texts.failed}. ${failureText(screen, texts)}`
    case 'confirming':
      return `${texts.confirming}. ${texts.confirmingNote(merchantName)}`
    case 'succeeded':
      return texts.spokenSuccess(view.show(screen.paid))
    case 'already_paid':
      return `${texts.alreadyPaid}.`
    case 'cancelled':
      return `${texts.cancelled}.`
    case 'expired':
      return `${texts.expired}.`
    case 'account_expired':
      return `${texts.accountExpired}.`
    case 'unpayable':
      return `${texts.unpayable}.`
  }
}

/** Automatic return: only after a success that the customer saw happen, and never when embedded. */
function leaving(screen: Screen, { returnTo, returnAfterSeconds, embedded }: View): Record<string, string> {
  if (screen.state !== 'succeeded' || !returnTo || returnAfterSeconds === null || embedded) return {}
  return { 'data-return': returnTo, 'data-return-after': String(returnAfterSeconds) }
}

export function processing(texts: Texts): Html {
  return html`<div class="state"><span class="spinner" aria-hidden="true"></span>
<h2 id="heading" tabindex="-1">${texts.processing}</h2>
<p>${texts.processingNote}</p>
<p class="note" data-after="20" hidden>${texts.processingLong}</p>
<span data-reload-after="90" hidden></span></div>`
}

function provider(screen: Of<'provider'>, view: View): Html {
  const { link, channel, choices } = screen
  const { texts, embedded } = view
  const where = isFramed(screen, view) ? 'data-frame' : 'data-go'
  const target = embedded ? html` target="_blank" rel="noopener"` : null
  return html`<div class="frame" ${new Html(where)}="${link}">
<h2 id="heading" tabindex="-1">${providerWords(screen, view).heading}</h2>
<p>${providerWords(screen, view).note}</p>
<p><a class="button" href="${link}"${target}>${texts.providerOpen}</a></p>
</div>
${another(channel, choices, view)}
${cancel(view)}`
}

/** Card pages alone are made for a frame. */
export function isFramed({ provider, channel }: Of<'provider'>, { mayFrame }: Pick<View, 'mayFrame'>): boolean {
  switch (channel) {
    case 'card':
      return mayFrame(provider)
    case 'virtual-bank-account':
    case 'mobile-money':
    case 'ussd':
    case 'bank':
    case 'qr':
      return false
  }
}

function providerWords(screen: Of<'provider'>, view: View): { heading: string; note: string } {
  const { texts } = view
  switch (screen.channel) {
    case 'card':
      return { heading: texts.provider, note: isFramed(screen, view) ? texts.providerFramedNote : texts.providerNote }
    case 'virtual-bank-account':
    case 'mobile-money':
    case 'ussd':
    case 'bank':
    case 'qr':
      return { heading: texts.method[screen.channel], note: texts.providerOtherNote }
  }
}

function failed(screen: Of<'failed'>, view: View): Html {
  const { texts, here, payment } = view
  const { failure, channel, failures, choices, earlier } = screen
  const other = choices.methods.find((method) => method.channel !== channel)
  const otherFirst = other && (failures >= 3 || OTHER_METHOD_FIRST.has(failure))
  const style = (first: boolean) => (first ? 'main' : 'second')
  const again = retry(screen, style(!otherFirst), view)
  const elsewhere =
    other &&
    html`<a class="button ${style(Boolean(otherFirst))}" href="${addTo(here, `method=${IN_URL[other.channel]}`)}" data-panel>${texts.useAnotherMethod}</a>`
  return html`<div class="state"><span class="mark bad" aria-hidden="true">!</span>
<h2 id="heading" tabindex="-1">${texts.failed}</h2>
<p>${failureText(screen, texts)}</p></div>
${earlierNote(earlier, view)}
${otherFirst ? html`${elsewhere}${again}` : html`${again}${elsewhere}`}
<p class="small"><bdi>${failure}</bdi> &#183; <bdi>${payment.reference}</bdi></p>
${cancel(view)}`
}

/** Where there is something to choose or to correct, the form comes first; else the retry starts directly. */
function retry(screen: Of<'failed'>, style: string, view: View): Html {
  const { texts, here } = view
  const { channel, choices, failure, saveCard } = screen
  const text = failure === 'card_expired' ? texts.useAnotherCard : texts.tryAgain
  const method = IN_URL[channel]
  const toForm = html`<a class="button ${style}" href="${addTo(here, `method=${method}`)}" data-panel>${text}</a>`
  const start = (fields: Html | null) =>
    form(
      view,
      'pay',
      html`<input type="hidden" name="method" value="${method}">${shownTotal(choices.methods.find((each) => each.channel === channel))}${fields}<button class="${style}">${text}</button>`,
    )
  switch (channel) {
    case 'card':
      if (choices.cards.length > 0) return toForm
      return start(
        html`<input type="hidden" name="card" value="new">${saveCard ? html`<input type="hidden" name="save" value="1">` : null}`,
      )
    case 'virtual-bank-account':
    case 'qr':
      return start(null)
    case 'mobile-money':
    case 'ussd':
    case 'bank':
      return toForm
  }
}

function failureText({ failure, notCharged, channel }: Of<'failed'>, texts: Texts): string {
  const reason = reasonIn(failure, channel, texts)
  return notCharged ? `${reason} ${texts.notCharged}` : reason
}

function reasonIn(failure: FailureCode, channel: Channel, { reason, reasonOnPhone }: Texts): string {
  switch (channel) {
    case 'card':
    case 'virtual-bank-account':
      return reason[failure]
    case 'mobile-money':
    case 'ussd':
    case 'bank':
    case 'qr':
      return reasonOnPhone[failure] ?? reason[failure]
  }
}

// The bank would probably decline the same card again. FINAL_FAILURES in payments/state/attempt.ts is what the API
// says.
const OTHER_METHOD_FIRST: ReadonlySet<string> = new Set([
  'insufficient_funds',
  'card_declined',
  'card_not_supported',
  'limit_exceeded',
  'suspected_fraud',
  'other',
])

export function confirming(view: Pick<View, 'texts' | 'merchantName' | 'here' | 'token' | 'key'>): Html {
  const { texts, merchantName } = view
  return html`<div class="state"><span class="spinner" aria-hidden="true"></span>
<h2 id="heading" tabindex="-1">${texts.confirming}</h2>
<p>${texts.confirmingNote(merchantName)}</p></div>
${form(view, 'check', html`<button class="main">${texts.checkNow}</button>`)}`
}

function paid(screen: Of<'succeeded' | 'already_paid'>, view: View): Html {
  const { texts, merchantName, returnTo, returnAfterSeconds, embedded } = view
  const isNews = screen.state === 'succeeded'
  const when = new Intl.DateTimeFormat(texts.locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  const returning = isNews && returnTo && returnAfterSeconds !== null && !embedded
  return html`<div class="state"><span class="mark good" aria-hidden="true">&#10003;</span>
<h2 id="heading" tabindex="-1">${isNews ? texts.succeeded : texts.alreadyPaid}</h2>
<p>${texts.paidTo(view.show(screen.paid), merchantName)}${isNews ? null : html` ${texts.nothingMore}`}</p>
${screen.excess > 0 ? html`<p>${texts.overpaidNote(view.show(screen.excess), merchantName)}</p>` : null}
${screen.refunded > 0 ? html`<p>${texts.refundedNote(view.show(screen.refunded))}</p>` : null}
<p class="note">${texts.paidOn(`${when.format(screen.at)} UTC`)}</p></div>
${referenceRow(view)}
${onwards(view)}
${view.receipt}
${returning ? html`<p class="note js" id="returning">${texts.returningIn} <bdi class="timer" id="returning-in">${returnAfterSeconds}</bdi> s <button type="button" class="link" data-stay>${texts.stay}</button></p>` : null}
<button type="button" class="quiet js" data-print>${texts.print}</button>`
}

function ended(view: View, mark: string, heading: string, note: string): Html {
  return html`<div class="state"><span class="mark" aria-hidden="true">${mark}</span>
<h2 id="heading" tabindex="-1">${heading}</h2>
<p>${note}</p></div>
${referenceRow(view)}
${onwards(view)}`
}

/** Part of the money may have arrived before the payment ended. */
function whatCameIn({ texts, payment, show, merchantName }: View, mayBePaid: boolean): string {
  if (payment.amountPaid > 0) return texts.partial(show(payment.amountPaid), show(payment.amount))
  return mayBePaid ? texts.cancelledOpen(merchantName) : texts.notCharged
}

function referenceRow({ texts, payment }: View): Html {
  return html`<dl class="rows">${row(texts, texts.reference, payment.reference, payment.reference)}</dl>`
}

function onwards({ texts, returnTo, merchantName, embedded }: View): Html | null {
  if (embedded) return html`<button type="button" class="main js" data-close>${texts.close}</button>`
  return returnTo
    ? html`<a class="button main" href="${returnTo}" rel="noreferrer">${texts.returnTo(merchantName)}</a>`
    : null
}
