import { readConfig } from '../../config/config.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { linksOn } from '../../payments/links.ts'
import { endAttempt } from '../../payments/settle/end-attempt.ts'
import type { Command } from '../command.ts'
import { print } from '../print.ts'
import { actor, withDatabase } from '../with-database.ts'
import { describePayment, findNamedPayment, paymentShow } from './payment.ts'

export const paymentEndAttempt: Command = {
  name: 'payment end-attempt',
  summary: 'End an attempt that stays in progress, because the provider does not tell its outcome',
  options: {
    ...paymentShow.options,
    note: { value: 'TEXT', summary: 'Why you end it: what the provider’s dashboard shows', required: true },
  },
  word: 'payment',
  async run(options) {
    const note = options.required('note')
    const state = await withDatabase(async ({ database, clock }) => {
      const { payment, attempts } = await findNamedPayment(database, options)
      const attempt = attempts.find(({ status }) => status === 'processing')
      if (!attempt) throw new OperatorError(`Payment ${payment.reference} has no attempt in progress.`)
      const links = linksOn(() => readConfig(process.env).publicUrl ?? 'http://localhost:3000')
      return endAttempt({ database, clock, links }, { actor: actor(), note }, attempt)
    })
    print(options.json, state, describePayment(state))
  },
}
