import type { FeeSchedule } from '../../kernel/fee.ts'
import { type Currency, formatMoney, money } from '../../kernel/money.ts'

/** A fee for people to read: "1.5 % + ₦100.00 from ₦2,500.00, at most ₦2,000.00". */
export function feeText(schedule: FeeSchedule, currency: Currency): string {
  const { basisPoints, flat = 0, flatWaivedBelow, minimum, cap, taxBasisPoints, duty } = schedule
  const sum = (amount: number) => formatMoney(money(amount, currency))
  const percent = (points: number) => `${points / 100} %`
  const from = flatWaivedBelow ? ` from ${sum(flatWaivedBelow)}` : ''
  const parts = [basisPoints > 0 && percent(basisPoints), flat > 0 && `${sum(flat)}${from}`].filter(Boolean)
  return [
    parts.join(' + ') || 'none',
    minimum && `at least ${sum(minimum)}`,
    cap && `at most ${sum(cap)}`,
    taxBasisPoints && `plus ${percent(taxBasisPoints)} tax on the fee`,
    duty && `plus ${sum(duty.amount)} duty above ${sum(duty.above)}`,
  ]
    .filter(Boolean)
    .join(', ')
}
