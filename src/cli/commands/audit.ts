import { audit as examine } from '../../attempts/audit.ts'
import { recordsAfter } from '../../attempts/audit-records-store.ts'
import type { PaymentId } from '../../kernel/ids.ts'
import type { Command } from '../command.ts'
import { print } from '../print.ts'
import { withParts } from '../with-parts.ts'

const PAGE = 500

export const audit: Command = {
  name: 'audit',
  summary: 'Derive every payment again from its events, receipts and refunds, and print what disagrees',
  options: {},
  async run(options) {
    const findings: { payment: PaymentId; reference: string; finding: string }[] = []
    let payments = 0
    await withParts(async ({ database }) => {
      let last: PaymentId | undefined
      for (;;) {
        const page = await database.transaction((tx) => recordsAfter(tx, last, PAGE))
        for (const records of page) {
          const { id, reference } = records.book.payment
          for (const finding of examine(records)) findings.push({ payment: id, reference, finding })
          last = id
        }
        payments += page.length
        if (page.length < PAGE) return
      }
    })
    const lines = findings.map(({ payment, reference, finding }) => `${payment} (${reference}): ${finding}`)
    const summary = findings.length === 0 ? 'nothing disagrees.' : `${findings.length} findings.`
    print(
      options.json,
      { payments, findings },
      [...lines, `${payments} ${payments === 1 ? 'payment' : 'payments'} audited: ${summary}`].join('\n'),
    )
    if (findings.length > 0) process.exitCode = 1
  },
}
