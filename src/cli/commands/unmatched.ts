import { readConfig } from '../../config/config.ts'
import { databaseClock } from '../../database/database-clock.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { createLog } from '../../log.ts'
import { linksOn } from '../../payments/links.ts'
import { listUnmatched } from '../../payments/store/notices.ts'
import { listUnmatchedReceipts } from '../../payments/store/receipts.ts'
import { listUnmatchedMoney } from '../../payments/store/unmatched.ts'
import { matchTransfer } from '../../payments/transfers/handle-transfer.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print, table } from '../print.ts'
import { openProviders } from '../provider-clients.ts'
import { findServiceUrls } from '../running-service.ts'
import { actor, openSecrets, withDatabase } from '../with-database.ts'
import { describePayment, findNamedPayment } from './payment.ts'

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
      receipt: receipt.id,
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

export const unmatchedMatch: Command = {
  name: 'unmatched match',
  summary: 'Match a receipt of the unmatched list with a payment, as the dashboard does',
  options: {
    receipt: { value: 'receipt-…', summary: 'The receipt; see: manilla unmatched list', required: true },
    payment: { value: 'REFERENCE', summary: 'Reference of the payment, or the chk_ id', required: true },
    merchant: { value: 'mer_…', summary: 'The merchant, when several use this reference' },
    note: { value: 'TEXT', summary: 'Why they belong together' },
  },
  word: 'receipt',
  async run(options) {
    const id = receiptOption(options)
    const config = readConfig(process.env)
    const state = await withDatabase(async ({ database }) => {
      const { payment } = await findNamedPayment(database, options)
      const [money] = await listUnmatchedMoney(database, payment, { before: id + 1, limit: 1 })
      if (money?.id !== id)
        throw new OperatorError(`The merchant of ${payment.reference} has no unmatched receipt-${id} in this mode.`)
      const secrets = await openSecrets(config, database)
      const { baseUrl } = await findServiceUrls(config)
      const deps = {
        database,
        secrets,
        clock: await databaseClock(database),
        log: createLog(config.logLevel),
        links: linksOn(() => baseUrl),
        providers: await openProviders(config, { database, secrets }, PROVIDERS),
      }
      const by = { scope: payment, actor: actor(), note: options.text('note') ?? null }
      return matchTransfer(deps, by, { kind: 'receipt', id }, payment.id, money.amount)
    })
    print(options.json, state, describePayment(state))
  },
}

function receiptOption(options: Options): number {
  const [, id] = /^receipt-([1-9]\d{0,14})$/.exec(options.required('receipt')) ?? []
  if (!id) throw new UsageError('--receipt must be an id like receipt-12; see: manilla unmatched list')
  return Number(id)
}
