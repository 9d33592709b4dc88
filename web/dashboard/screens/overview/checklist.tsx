import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import type { FirstSteps } from '../../answers.ts'
import { Copyable } from '../../components/copy.tsx'
import { Section } from '../../components/screen.tsx'
import type { CurrentMerchant } from '../../session.ts'

export function isReady(steps: FirstSteps | undefined): boolean {
  return Boolean(steps?.madePayment && steps.wasPaid && steps.receivedWebhook)
}

/** Three steps that tick themselves off when they have really happened. */
export function Checklist({ steps, merchant }: { steps: FirstSteps; merchant: CurrentMerchant }) {
  const { madePayment, wasPaid, receivedWebhook } = steps
  const done = [madePayment, wasPaid, receivedWebhook].filter(Boolean).length
  return (
    <Section
      title={done === 3 ? `${merchant.name} is ready` : 'Get started'}
      about={
        done === 3
          ? `All three steps have happened in ${merchant.mode} mode.`
          : `${done} of 3 steps done in ${merchant.mode} mode. Each ticks itself off when it has happened.`
      }
    >
      <ol class="checklist">
        <Step isDone={madePayment} title="Make a payment link">
          <MakeLink merchant={merchant} />
        </Step>
        <Step isDone={wasPaid} title="Pay it">
          <p>
            {merchant.mode === 'sandbox'
              ? 'Open the link and pay with the test card 4084 0840 8408 4081, any future date and any code.'
              : 'Open the link and pay a small amount. You can refund it.'}
          </p>
        </Step>
        <Step isDone={receivedWebhook} title="Receive a webhook">
          <p>
            Add an endpoint in <Link href={merchant.path('/webhooks')}>Webhooks</Link>. A paid payment is sent to it as{' '}
            <code>payment.successful</code>.
          </p>
        </Step>
      </ol>
    </Section>
  )
}

function MakeLink({ merchant }: { merchant: CurrentMerchant }) {
  const request = [
    `curl ${window.location.origin}/payments/v1/checkouts \\`,
    `  -H 'client-id: …' -H 'client-secret: …' \\`,
    `  --json '{"amount": 250000, "country": "NG", "user": {"email": "ada@example.com"}}'`,
  ].join('\n')
  return (
    <>
      <p>
        {merchant.may('payments') ? (
          <>
            Choose “New link” in <Link href={merchant.path('/links')}>Links</Link>, or send this request with an API
            key.
          </>
        ) : (
          'Send this request with an API key. The answer has the link.'
        )}
      </p>
      <Copyable label="request" text={request} />
    </>
  )
}

function Step({ isDone, title, children }: { isDone: boolean; title: string; children: ComponentChildren }) {
  return (
    <li class={isDone ? 'done' : undefined}>
      <svg class="mark" width="24" height="24" viewBox="0 0 24 24" aria-hidden="true">
        {isDone ? (
          <>
            <circle cx="12" cy="12" r="12" fill="currentColor" />
            <path class="tick" d="m7 12.5 3.5 3.5L17 9" fill="none" stroke-width="2" stroke-linecap="round" />
          </>
        ) : (
          <circle cx="12" cy="12" r="11" fill="none" stroke="currentColor" stroke-width="1.5" />
        )}
      </svg>
      <div>
        <h3>
          {title}
          {isDone && <span class="soft"> (done)</span>}
        </h3>
        {!isDone && <div class="soft">{children}</div>}
      </div>
    </li>
  )
}
