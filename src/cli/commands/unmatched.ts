import { listUnmatched } from '../../payments/store/notices.ts'
import { listUnmatchedReceipts } from '../../payments/store/receipts.ts'
import type { Command } from '../command.ts'
import { print, table } from '../print.ts'
import { withParts } from '../with-parts.ts'

const MOST = 200

export const unmatchedList: Command = {
  name: 'unmatched list',
  summary: 'Show notices and money that belong to no payment we know',
  options: {},
  async run(options) {
    const { notices, receipts } = await withParts(async ({ database }) => ({
      notices: await listUnmatched(database, MOST),
      receipts: await listUnmatchedReceipts(database, MOST),
    }))
    const told = notices.map((notice) => ({
      received: notice.receivedAt.toISOString(),
      provider: notice.provider,
      mode: notice.mode,
      merchant: notice.merchantId,
      reference: notice.reference ?? '-',
      says: notice.says,
      why: notice.note ?? '',
    }))
    const money = receipts.map((receipt) => ({
      recorded: receipt.recordedAt.toISOString(),
      provider: receipt.provider,
      mode: receipt.mode,
      merchant: receipt.merchantId,
      transaction: receipt.transactionId,
      amount: `${receipt.amount} ${receipt.currency}`,
    }))
    print(
      options.json,
      { notices, receipts },
      [
        told.length > 0 ? `Notices:\n${table(told)}` : 'No notices.',
        money.length > 0 ? `Money:\n${table(money)}` : 'No money.',
      ].join('\n\n'),
    )
  },
}
