import { html } from '../kernel/html.ts'
import type { Attempt, Payment } from './payments-api.ts'
import { productOf } from './products.ts'
import { amountIn, type Frame, type Panel, page, webhooksOf } from './views.ts'

/** The customer approves on the phone. In the sandbox nobody's phone rings, so there are buttons in its place. */
export function phonePage(frame: Frame, panel: Panel, payment: Payment, attempt: Attempt): string {
  const { reference, status } = payment
  const { failure, paidFrom, instructions } = attempt
  const amount = amountIn(payment.currency)(payment.amount)
  const isAsked = status === 'pending' && attempt.status === 'pending'
  const heading = isAsked
    ? 'Approve on your phone'
    : status === 'successful'
      ? 'Thank you! It is paid.'
      : 'Not paid yet'
  const wantsCode = instructions !== null && 'code' in instructions
  const answers = html`<form method="post" action="${frame.path}/phone" class="send">
<input type="hidden" name="reference" value="${reference}">
<button class="button" name="answer" value="approve">Approve (sandbox)</button>
<button class="button quiet" name="answer" value="refuse">Refuse</button>
</form>
<p class="note">A number that ends in 789 approves by itself. This page changes by itself; without scripts, <a href="${frame.path}/phone?reference=${reference}">look again</a>.</p>`
  return page(
    frame,
    panel,
    heading,
    html`<div id="order" aria-live="polite"><section class="card">
<h1 tabindex="-1" class="is-${status}">${heading}</h1>
<p>${productOf(payment.metadata.product)?.name ?? 'order'}, ${amount}. Order <code>${reference}</code>.</p>
<dl class="account">
<div><dt>Network</dt><dd>${paidFrom?.network}</dd></div>
<div><dt>Phone number</dt><dd class="number">${paidFrom?.phoneNumber}</dd></div>
</dl>
${failure ? html`<p class="alert">${failure.message}</p>` : null}
${isAsked && !wantsCode ? answers : null}
${status === 'pending' && (failure || wantsCode) ? html`<p><a class="button" href="${payment.url}">Go on paying</a></p>` : null}
${webhooksOf(panel.lines)}
</section></div>
<p><a href="${frame.path}">Back to the shop</a></p>`,
  )
}
