import { readConfig } from '../../config/config.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { linksOn } from '../../payments/links.ts'
import { endRefund } from '../../payments/refunds/end-refund.ts'
import { isLost, refundView } from '../../payments/state/refund.ts'
import { refundsOf } from '../../payments/store/refunds.ts'
import { type Command, UsageError } from '../command.ts'
import { print } from '../print.ts'
import { actor, withDatabase } from '../with-database.ts'
import { findNamedPayment, paymentShow } from './payment.ts'

export const paymentEndRefund: Command = {
  name: 'payment end-refund',
  summary: 'End a refund that the provider was asked for, does not list, and has not made',
  options: {
    ...paymentShow.options,
    refund: { value: 'rfd_…', summary: 'The refund, when the payment has several of these' },
    note: { value: 'TEXT', summary: 'Why you end it: what the provider’s dashboard shows', required: true },
  },
  word: 'payment',
  async run(options) {
    const note = options.required('note')
    const named = options.text('refund')
    const ended = await withDatabase(async ({ database, clock }) => {
      const { payment } = await findNamedPayment(database, options)
      const lost = (await refundsOf(database, payment.id)).filter(isLost)
      const [refund, ...others] = named === undefined ? lost : lost.filter(({ id }) => id === named)
      if (!refund) throw new OperatorError(`Payment ${payment.reference} has no refund that can be ended.`)
      if (others.length > 0)
        throw new UsageError(`Name one of them by --refund: ${lost.map(({ id }) => id).join(', ')}`)
      const links = linksOn(() => readConfig(process.env).publicUrl ?? 'http://localhost:3000')
      return endRefund({ database, clock, links }, { actor: actor(), note }, refund)
    })
    print(options.json, refundView(ended), `Refund ${ended.id} has failed. The money can be refunded again.`)
  },
}
