import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import { useMerchant } from '../session.ts'
import type { PaymentSettlement } from '../settlement-answers.ts'
import { useData } from './data.ts'
import { providerName } from './payment-status.tsx'
import { Section } from './screen.tsx'
import { Day, DayOf, LINE_KINDS } from './settlement-parts.tsx'
import { Status } from './status.tsx'
import { Money } from './values.tsx'

/** In which settlements the money of a payment is. Nothing, where the provider does not list what it pays out. */
export function PaidOut({ path }: { path: string }) {
  const { data } = useData<PaymentSettlement[]>(`${path}/settlements`)
  if (!data || data.length === 0) return null
  return (
    <Section title="Settlement">
      <ul class="rows">
        {data.map((part, index) => (
          <li key={`${part.settlement} ${index}`}>
            <div>
              {part.settlement ? <Settled part={part} settlement={part.settlement} /> : <Waiting part={part} />}
            </div>
            <Money amount={part.net ?? part.gross} currency={part.currency} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Settled({ part, settlement }: { part: PaymentSettlement; settlement: string }) {
  const { kind, status, provider, providerId, bankReference, bankDay } = part
  return (
    <>
      <Link class="cell-main" href={useMerchant().path(`/settlements/${settlement}`)}>
        {kind && kind !== 'payment' && `${LINE_KINDS[kind]}, `}
        <DayOf {...part} />
      </Link>
      {status === 'failed' && (
        <div>
          <Status tone="bad">The payout failed</Status>
        </div>
      )}
      <More>
        {providerName(provider)} <code>{providerId}</code>
      </More>
      {bankReference && (
        <More>
          Bank reference <code>{bankReference}</code>
        </More>
      )}
      {bankDay && (
        <More>
          On your bank statement: <Day day={bankDay} />
        </More>
      )}
    </>
  )
}

function Waiting({ part: { late, expectedOn, provider } }: { part: PaymentSettlement }) {
  return (
    <>
      <Status tone={late ? 'attention' : 'waiting'}>Not settled yet</Status>
      {expectedOn && (
        <More>
          {providerName(provider)} usually settles it by <Day day={expectedOn} />
          {late && ', so it is late'}
        </More>
      )}
    </>
  )
}

function More({ children }: { children: ComponentChildren }) {
  return <div class="cell-more">{children}</div>
}
