import type { ComponentChildren } from 'preact'
import type { Charts, Group, Sums } from '../../answers.ts'
import { Chart } from '../../components/chart.tsx'
import { channelName, inWords, providerName } from '../../components/payment-status.tsx'
import { formatMoney } from '../../components/values.tsx'

const COUNT = new Intl.NumberFormat('en')
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

const formatCount = (value: number) => COUNT.format(value)
const formatRate = (value: number) => PERCENT.format(value)

/** 45 is "45 s", 200 is "3 min". */
function formatSeconds(value: number): string {
  if (value < 90) return `${Math.round(value)} s`
  if (value < 5_400) return `${Math.round(value / 60)} min`
  return value < 129_600 ? `${Math.round(value / 3_600)} h` : `${Math.round(value / 86_400)} days`
}

/** Without the part behind the point, where the amount is large. */
function wholeMoney(amount: number, currency: string): string {
  return amount < 1_000_000 ? formatMoney(amount, currency) : formatMoney(amount, currency).replace(/\.\d+$/, '')
}

/** Of the payments that ended. Null: none did. */
function paymentRate({ paid, cancelled, expired }: Sums): number | null {
  const ended = paid + cancelled + expired
  return ended === 0 ? null : paid / ended
}

function attemptRate({ attemptsPaid, attemptsFailed }: Pick<Sums, 'attemptsPaid' | 'attemptsFailed'>): number | null {
  const ended = attemptsPaid + attemptsFailed
  return ended === 0 ? null : attemptsPaid / ended
}

const orNone = (value: number | null | undefined, format: (value: number) => string) =>
  value === null || value === undefined ? '–' : format(value)

/** Sums, charts and groups of a range, in one currency. */
export function ChartsSection({ charts, zone, money }: { charts: Charts; zone: string; money: ComponentChildren }) {
  const { totals, parts, currency, unit, providers, channels, declines } = charts
  if (currency === null)
    return (
      <div class="panel">
        <h3>No payments in this range</h3>
        <p>Choose a longer range.</p>
      </div>
    )
  const inMoney = (value: number) => formatMoney(value, currency)
  const inWhole = (value: number) => wholeMoney(value, currency)
  const labels = labelsOf(parts, unit, zone)
  const each = (read: (sums: Sums) => number | null) => parts.map(read)
  const digits = formatMoney(0, currency).replaceAll(/\D/g, '').length - 1
  const shortMoney = (value: number) => SHORT.format(value / 10 ** digits)
  return (
    <>
      {charts.isBehind && (
        <p class="stale" role="status">
          Payments are being summed up. The newest ones are not in the charts yet.
        </p>
      )}
      {money}
      <dl class="tiles">
        <Tile name="Volume" value={inWhole(totals.volume)} more={`${formatCount(totals.paid)} paid`} />
        <Tile
          name="Payments that were paid"
          value={orNone(paymentRate(totals), formatRate)}
          more={`${formatCount(totals.cancelled)} cancelled, ${formatCount(totals.expired)} expired`}
        />
        <Tile
          name="Attempts that succeeded"
          value={orNone(attemptRate(totals), formatRate)}
          more={`${formatCount(totals.attemptsFailed)} declined, ${formatCount(totals.attemptsAbandoned)} abandoned`}
        />
        <Tile
          name="Time to pay"
          value={orNone(totals.timeToPay?.p50, formatSeconds)}
          more={`9 of 10 within ${orNone(totals.timeToPay?.p90, formatSeconds)}`}
        />
      </dl>
      <div class="charts">
        <Chart
          title="Volume"
          labels={labels}
          series={[{ name: 'Volume', values: each(({ volume }) => volume), isBars: true }]}
          format={inMoney}
          formatShort={shortMoney}
        />
        <Chart
          title="Payments"
          labels={labels}
          series={[
            { name: 'Created', values: each(({ created }) => created), isDashed: true },
            { name: 'Paid', values: each(({ paid }) => paid) },
          ]}
          format={formatCount}
        />
        <Chart
          title="Success rate"
          labels={labels}
          series={[
            { name: 'Payments', values: each(paymentRate) },
            { name: 'Attempts', values: each(attemptRate), isDashed: true },
          ]}
          most={1}
          format={formatRate}
        />
        <Chart
          title="Time to pay"
          labels={labels}
          series={[
            { name: 'Half within', values: each(({ timeToPay }) => timeToPay?.p50 ?? null) },
            { name: '9 of 10 within', values: each(({ timeToPay }) => timeToPay?.p90 ?? null), isDashed: true },
          ]}
          format={formatSeconds}
        />
        <GroupTable title="By provider" groups={providers} nameOf={providerName} format={inWhole} />
        <GroupTable title="By channel" groups={channels} nameOf={channelName} format={inWhole} />
      </div>
      {declines.length > 0 && <Declines declines={declines} />}
    </>
  )
}

function labelsOf(parts: Charts['parts'], unit: Charts['unit'], zone: string): string[] {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    ...(unit === 'hour'
      ? { hour: '2-digit', minute: '2-digit', weekday: 'short' }
      : { day: 'numeric', month: 'short' }),
  })
  return parts.map(({ at }) => format.format(new Date(at)))
}

function Tile({ name, value, more }: { name: string; value: string; more: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        <span class="soft">{more}</span>
      </dd>
    </div>
  )
}

interface GroupParts {
  title: string
  groups: Group[]
  nameOf: (name: string) => string
  format: (value: number) => string
}

function GroupTable({ title, groups, nameOf, format }: GroupParts) {
  const most = Math.max(1, ...groups.map(({ volume }) => volume))
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <table class="bars">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" class="money">
              Volume
            </th>
            <th scope="col" class="money">
              Paid
            </th>
            <th scope="col" class="money">
              Success rate
            </th>
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={group.name}>
              <th scope="row">
                {nameOf(group.name)}
                <Bar share={group.volume / most} />
              </th>
              <td class="money">{format(group.volume)}</td>
              <td class="money">{formatCount(group.paid)}</td>
              <td class="money">{orNone(attemptRate(group), formatRate)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  )
}

function Declines({ declines }: { declines: Charts['declines'] }) {
  const all = declines.reduce((sum, { count }) => sum + count, 0)
  const most = declines[0]?.count ?? 1
  return (
    <figure class="chart declines">
      <figcaption>Why attempts were declined</figcaption>
      <table class="bars">
        <thead>
          <tr>
            <th scope="col">Reason</th>
            <th scope="col" class="money">
              Declines
            </th>
            <th scope="col" class="money">
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {declines.map(({ code, count }) => (
            <tr key={code}>
              <th scope="row">
                {code === '' ? 'Not told' : inWords(code)}
                <Bar share={count / most} />
              </th>
              <td class="money">{formatCount(count)}</td>
              <td class="money">{formatRate(count / all)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  )
}

function Bar({ share }: { share: number }) {
  return (
    <svg class="bar-of" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect width="100" height="4" class="bar-ground" />
      <rect width={Math.max(0.5, share * 100)} height="4" />
    </svg>
  )
}
