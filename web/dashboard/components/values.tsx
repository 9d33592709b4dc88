import { useContext } from 'preact/hooks'
import { MerchantContext } from '../session.ts'
import { BROWSER_ZONE, formatIn, isKnownZone } from '../zone.ts'

/** The zone in which days and times are shown: the merchant's, else the browser's. Lists name it. */
export function useZone(): string {
  const zone = useContext(MerchantContext)?.timeZone
  return zone && isKnownZone(zone) ? zone : BROWSER_ZONE
}

/** The name of the zone, for readers. */
export function ZoneName() {
  return <>{useZone().replaceAll('_', ' ')}</>
}

/** A moment; the full form is in the tooltip. */
export function Time({ at, none = 'Never' }: { at: string | null; none?: string }) {
  const zone = useZone()
  if (at === null) return <span class="soft">{none}</span>
  const date = new Date(at)
  return (
    <time dateTime={at} title={formatIn(zone, 'exact').format(date)}>
      {formatIn(zone, 'moment').format(date)}
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

/** An amount as people type it: 12500.00. */
export function formatPlain(amount: number, currency: string): string {
  const digits =
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2
  return (amount / 10 ** digits).toFixed(digits)
}

/** With or without a comma before each three digits. A comma elsewhere is a mistake: "10,50" could mean 10.50. */
const AMOUNT = /^(\d{1,12}|\d{1,3}(?:,\d{3}){1,3})(?:\.(\d*))?$/

/** The lowest denomination of an amount that a person typed. Undefined when it is not an amount of this currency. */
export function parseMoney(text: string, currency: string): number | undefined {
  const digits =
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2
  const [, whole, part = ''] = AMOUNT.exec(text.replaceAll(/\s/g, '')) ?? []
  if (whole === undefined || part.length > digits) return undefined
  return Number(whole.replaceAll(',', '') + part.padEnd(digits, '0'))
}
