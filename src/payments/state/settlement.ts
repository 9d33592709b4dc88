import type { PaymentId, SettlementId } from '../../kernel/ids.ts'
import { type Currency, formatMoney } from '../../kernel/money.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { ListedSettlement, ListedSettlementLine } from '../../providers/provider.ts'

/** What a provider pays out, as it is on record. */
export interface Settlement extends Scope, Omit<ListedSettlement, 'id'> {
  id: SettlementId
  provider: string
  /** The version of the keys that lists it. */
  keysVersion: number
  /** The provider's own id. */
  providerId: string
  /** What the provider changed after it was paid, in words. It is not taken over. */
  changed: string | null
  /** wanted: to be read, from the cursor. read: all of them are on record. */
  linesState: 'none' | 'wanted' | 'read'
  linesCursor: string | null
  reading: number
  lines: LineSums
  announcedAt: Date | null
  credit: { id: number; day: string; amount: number } | null
}

export interface LineSums {
  count: number
  gross: number
  fees: number
  /** Null: no list names it. */
  net: number | null
  /** Lines of payments, refunds and disputes that name no payment of ours. */
  foreign: number
}

export const NO_LINES: LineSums = { count: 0, gross: 0, fees: 0, net: 0, foreign: 0 }

export type LineKind = ListedSettlementLine['kind']
export const LINE_KINDS = ['payment', 'refund', 'dispute', 'fee', 'adjustment'] as const satisfies readonly LineKind[]
export const SETTLEMENT_STATUSES = ['pending', 'paid', 'failed'] as const

export interface SettlementLine {
  id: number
  kind: LineKind
  transactionId: string | null
  orderReference: string | null
  gross: number
  fee: number | null
  net: number | null
  paymentId: PaymentId | null
  /** Reference of the payment. */
  payment: string | null
}

const AMOUNTS = ['gross', 'fees', 'deductions', 'net'] as const

/**
 * What a list says of a settlement that is on record. After it was paid, amounts stay as they are, and what the list
 * says of them is `changed`: a person decides. What was unknown is filled in, and a payout may still fail.
 */
export function withListed(before: Settlement, listed: ListedSettlement, keysVersion: number): Settlement {
  const { id: _, ...facts } = listed
  const wantsLines = (isNew: boolean) => listed.status === 'paid' && listed.hasLines && isNew
  if (before.status !== 'paid') {
    // What a failed payout was for was released, and is settled again.
    const isNew =
      before.linesState === 'none' ||
      before.status === 'failed' ||
      AMOUNTS.some((name) => before[name] !== listed[name])
    return { ...before, ...facts, keysVersion, changed: null, ...(wantsLines(isNew) && WANTED) }
  }
  const names = AMOUNTS.filter((name) => before[name] !== null && before[name] !== listed[name])
  const text = (of: Pick<ListedSettlement, 'currency' | (typeof AMOUNTS)[number]>) =>
    names.map((name) => `${name} ${amountText(of[name], of.currency)}`).join(', ')
  const isOther = names.length > 0 || before.currency !== listed.currency || listed.status === 'pending'
  const status = listed.status === 'failed' ? 'failed' : before.status
  return {
    ...before,
    status,
    ...(before.linesState === 'wanted' && { keysVersion }),
    // Else reading goes on, and says that its payments are settled.
    ...(before.linesState === 'wanted' && status === 'failed' && { linesState: 'none' as const }),
    because: listed.because ?? before.because,
    hasLines: before.hasLines || listed.hasLines,
    expectedOn: before.expectedOn ?? listed.expectedOn,
    paidAt: before.paidAt ?? listed.paidAt,
    gross: before.gross ?? listed.gross,
    fees: before.fees ?? listed.fees,
    deductions: before.deductions ?? listed.deductions,
    net: before.net ?? listed.net,
    bankReference: listed.bankReference ?? before.bankReference,
    difference: listed.difference,
    changed: isOther
      ? changeText(text(before) || before.currency, text(listed) || listed.currency, listed.status)
      : null,
    ...(wantsLines(before.linesState === 'none') && WANTED),
  }
}

const WANTED = { linesState: 'wanted', linesCursor: null } as const

const changeText = (before: string, after: string, status: string) =>
  status === 'pending'
    ? 'The provider listed it as paid, and lists it as pending now.'
    : `The provider listed it as paid with ${before}, and names ${after} now. Nothing was changed.`

export function amountText(amount: number | null, currency: string): string {
  if (amount === null) return 'nothing'
  const text = formatMoney({ amount: Math.abs(amount), currency: currency as Currency })
  return amount < 0 ? `-${text}` : text
}

/** A line that contradicts itself, or our record of its payment. */
export interface OddLine {
  key: string
  kind: LineKind
  payment: string | null
  gross: number
  fee: number | null
  net: number | null
  /** Of our receipt; null when the line names none, or it is in another currency. */
  received: number | null
  feeCharged: number | null
  /** The same money is in another settlement. */
  isInAnother: boolean | null
  /** It is of our payment, and our records do not have this money. */
  isMissing: boolean
}

const MOST_NAMED = 5

/** What does not agree, one sentence each, with both numbers. None: all agrees. */
export function findingsOf(of: Settlement, sums: LineSums, odd: OddLine[]): string[] {
  const text = (amount: number | null) => amountText(amount, of.currency)
  const { gross, fees, deductions, net, status } = of
  const findings: string[] = []
  if (status === 'failed') findings.push(`The payout of ${text(net)} failed${of.because ? `: ${of.because}` : ''}.`)
  if (of.difference) findings.push(of.difference)
  if (of.changed) findings.push(of.changed)
  const isNamed = gross !== null && fees !== null && deductions !== null && net !== null
  // The provider's own equation says the same of the same sums.
  if (isNamed && !of.difference && gross - fees - deductions !== net)
    findings.push(`Gross less fees and deductions is ${text(gross - fees - deductions)}, and net is ${text(net)}.`)
  for (const line of odd.slice(0, MOST_NAMED)) findings.push(oddText(line, text))
  if (odd.length > MOST_NAMED) findings.push(`${odd.length - MOST_NAMED} more lines are like that.`)
  if (of.linesState !== 'read' || net === null) return findings
  if (sums.net !== null && sums.net - (deductions ?? 0) !== net)
    findings.push(
      `Its ${sums.count} lines sum up to ${text(sums.net - (deductions ?? 0))}${deductions ? ` after ${text(deductions)} of deductions` : ''}, and net is ${text(net)}: a difference of ${text(sums.net - (deductions ?? 0) - net)}.`,
    )
  // Without a net of each line, no more can be known than that fees are not negative.
  if (sums.net === null && sums.gross < net)
    findings.push(`Its ${sums.count} lines sum up to ${text(sums.gross)} before fees, and net is ${text(net)}.`)
  return findings
}

function oddText(line: OddLine, text: (amount: number | null) => string): string {
  const { kind, key, payment, gross, fee, net, received, feeCharged } = line
  const name = `Line ${key} (${kind}${payment ? ` of ${payment}` : ''})`
  if (net !== null && fee !== null && gross - fee !== net)
    return `${name}: gross ${text(gross)} less fee ${text(fee)} is not net ${text(net)}.`
  if (line.isMissing) return `${name} has ${text(gross)}, and our records do not have it.`
  if (line.isInAnother) return `${name}: the same ${text(gross)} is in another settlement, too.`
  if (received !== null && received !== gross)
    return `${name} has ${text(gross)}, and our records have ${text(received)}.`
  return `${name} has a fee of ${text(fee)}, and our records have ${text(feeCharged)}.`
}

/** As merchants see it. `difference`: what its open case says. */
export function settlementView(of: Settlement, difference: string | null) {
  const { lines } = of
  const areRead = of.linesState === 'read'
  return {
    id: of.id,
    mode: of.mode,
    provider: of.provider,
    providerId: of.providerId,
    status: of.status,
    because: of.because,
    currency: of.currency,
    gross: of.gross ?? (areRead ? lines.gross : null),
    fees: of.fees ?? (areRead && lines.net !== null ? lines.fees : null),
    deductions: of.deductions,
    net: of.net,
    expectedOn: of.expectedOn,
    paidAt: of.paidAt?.toISOString() ?? null,
    madeAt: of.madeAt.toISOString(),
    bankReference: of.bankReference,
    /** Null: the provider does not say which payments it is for, or not yet. */
    lines: areRead ? { count: lines.count, foreign: lines.foreign } : null,
    bankCredit: of.credit && { id: `bank-${of.credit.id}`, day: of.credit.day },
    difference,
  }
}

export type SettlementView = ReturnType<typeof settlementView>
