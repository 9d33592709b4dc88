/** The zone in which times are shown. Lists name it. */
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })

/** A moment in the zone of the browser; the full form is in the tooltip. */
export function Time({ at, none = 'Never' }: { at: string | null; none?: string }) {
  if (at === null) return <span class="soft">{none}</span>
  const date = new Date(at)
  return (
    <time dateTime={at} title={EXACT.format(date)}>
      {MOMENT.format(date)}
    </time>
  )
}

/** An amount in the lowest denomination of its currency. */
export function Money({ amount, currency }: { amount: number; currency: string }) {
  return <span class="money">{formatMoney(amount, currency)}</span>
}

export function formatMoney(amount: number, currency: string): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'narrowSymbol' })
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
}

/** The lowest denomination of an amount that a person typed. Undefined when it is not an amount of this currency. */
export function parseMoney(text: string, currency: string): number | undefined {
  const digits =
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2
  const [, whole, part = ''] = /^(\d{1,12})(?:\.(\d*))?$/.exec(text.trim().replaceAll(/[,\s]/g, '')) ?? []
  if (whole === undefined || part.length > digits) return undefined
  return Number(whole + part.padEnd(digits, '0'))
}
