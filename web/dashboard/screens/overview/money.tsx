import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import { query } from '../../api.ts'
import { useData } from '../../components/data.ts'
import { ProblemText } from '../../components/problem.tsx'
import { formatMoney } from '../../components/values.tsx'
import { useMerchant } from '../../session.ts'
import type { MoneySum, UnsettledSum } from '../../settlement-answers.ts'

const EVERY_MS = 60_000

interface Parts {
  days: { from: string; to: string }
  zone: string
  currency: string | null
}

/** What came in and went out in the range, what is left of it, and what is not settled now. */
export function MoneyOfRange({ days, zone, currency }: Parts) {
  const merchant = useMerchant()
  const sums = useData<MoneySum[]>(merchant.api('/money') + query({ ...days, zone }), () => true, EVERY_MS)
  const unsettled = useData<UnsettledSum[]>(merchant.api('/settlements/unsettled/sums'), () => true, EVERY_MS)
  const sum = sums.data?.find((each) => each.currency === currency)
  if (!sum || currency === null) return <ProblemText error={sums.error} />
  const { gross, fees, calculated, refunds, disputes } = sum
  const waiting = unsettled.data?.filter((each) => each.currency === currency) ?? []
  // Without the sign of -0.
  const text = (amount: number) => formatMoney(amount || 0, currency)
  return (
    <dl class="tiles money-tiles">
      <Amount name="Gross">{text(gross)}</Amount>
      <Amount name="Fees" path="/settlements/fees" about={calculated > 0 && `${text(calculated)} not confirmed yet`}>
        {text(-fees)}
      </Amount>
      <Amount name="Refunds" path="/refunds">
        {text(-refunds)}
      </Amount>
      <Amount name="Lost disputes" path="/disputes">
        {text(-disputes)}
      </Amount>
      <Amount name="Net" path="/settlements">
        <strong>{text(gross - fees - refunds - disputes)}</strong>
      </Amount>
      {waiting.length > 0 && (
        <Amount name="Not settled yet" path="/settlements/unsettled">
          {text(waiting.reduce((all, { amount }) => all + amount, 0))}
        </Amount>
      )}
    </dl>
  )
}

interface AmountParts {
  name: string
  path?: string
  about?: string | false
  children: ComponentChildren
}

function Amount({ name, path, about, children }: AmountParts) {
  const merchant = useMerchant()
  return (
    <div>
      <dt>{path ? <Link href={merchant.path(path)}>{name}</Link> : name}</dt>
      <dd>
        {children}
        {about && <div class="soft">{about}</div>}
      </dd>
    </div>
  )
}
