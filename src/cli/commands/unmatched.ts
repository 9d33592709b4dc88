import { listUnmatched } from '../../payments/store/notices.ts'
import { listUnmatchedReceipts } from '../../payments/store/receipts.ts'
import type { Command } from '../command.ts'
import { print, table } from '../print.ts'
import { withDatabase } from '../with-database.ts'

const LIMIT = 200

export const unmatchedList: Command = {
  name: 'unmatched list',
  summary: 'List notices and receipts without a matching payment',
  options: {},
  async run(options) {
    const { notices, receipts } = await withDatabase(async ({ database }) => ({
      notices: await listUnmatched(database, LIMIT),
      receipts: await listUnmatchedReceipts(database, LIMIT),
    }))
    const noticeRows = notices.map((notice) => ({
      received: notice.receivedAt.toISOString(),
      provider: notice.provider,
      mode: notice.mode,
      merchant: notice.merchantId,
      reference: notice.reference ?? '-',
      says: notice.says,
      why: notice.note ?? '',
    }))
    const receiptRows = receipts.map((receipt) => ({
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
        noticeRows.length > 0 ? `Notices:\n${table(noticeRows)}` : 'No notices.',
        receiptRows.length > 0 ? `Receipts:\n${table(receiptRows)}` : 'No receipts.',
      ].join('\n\n'),
    )
  },
}
