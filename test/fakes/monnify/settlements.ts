import assert from 'node:assert/strict'
import type { SettlementFault } from '../conformance-rig.ts'
import { type Books, feeOf, naira, noticeOf, paidIn, slashes, type Transaction } from './state.ts'
import { number } from './wire.ts'

/** What the fake Monnify has paid out, each with its one notice. Refunds are paid from the wallet. */
export function settlementsOf(books: Books) {
  const notices = new Map<string, Buffer>()
  const settled = new Set<Transaction>()

  function settle(fault?: SettlementFault): string {
    const id = `LB8HG1PNZT4ATJG${String(notices.size + 1).padStart(5, '0')}`
    const paid = [...books.transactions.values()].filter((one) => one.status === 'PAID' || one.status === 'OVERPAID')
    const members = paid.filter((one) => !settled.has(one))
    for (const one of members) settled.add(one)
    const net = members.reduce((sum, one) => sum + paidIn(one) - feeOf(one), 0)
    const body = noticeOf('SETTLEMENT', {
      ...{ amount: naira(net - (fault === 'short' ? 100 : 0)), settlementTime: slashes(new Date()) },
      ...{ settlementReference: id, destinationAccountNumber: '6000000249', destinationBankName: 'Fidelity Bank' },
      ...{ destinationAccountName: 'Demo', transactionsCount: number(members.length) },
      transactions: members.slice(0, fault === 'member missing' ? -1 : undefined).map((one) => {
        const { settlementAmount: _, ...record } = books.recordOf(one)
        return { ...record, accountDetails: record.accountPayments[0] ?? {}, cardDetails: record.cardDetails ?? {} }
      }),
    })
    notices.set(id, body)
    if (fault !== 'late') books.notices.push(body)
    return id
  }

  return { settle, noticeOf: (id: string) => notices.get(id) ?? assert.fail('there is such a settlement') }
}
