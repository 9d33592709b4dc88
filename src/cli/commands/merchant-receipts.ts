import { readConfig } from '../../config/config.ts'
import { MODES, type Mode } from '../../kernel/mode.ts'
import { changeReceipts } from '../../mails/manage-receipts.ts'
import { RECEIPT_SENDS, type ReceiptSends } from '../../merchants/receipt-sends.ts'
import { type Command, UsageError } from '../command.ts'
import { print } from '../print.ts'
import { actor, withDatabase } from '../with-database.ts'
import { merchantOption } from './merchant.ts'

const SAYS: Record<ReceiptSends, string> = {
  never: 'Customers get no receipts by e-mail.',
  on_request: 'Customers get a receipt by e-mail when they ask for it on the payment page.',
  always: 'Customers get a receipt by e-mail for each payment.',
}

export const merchantReceipts: Command = {
  name: 'merchant receipts',
  summary: 'Show or set when a merchant’s customers get receipts by e-mail',
  options: {
    merchant: { value: 'mer_…', summary: 'The merchant', required: true },
    mode: { value: 'sandbox|live', summary: 'The mode', required: true },
    send: { value: RECEIPT_SENDS.join('|'), summary: 'When they are sent; without it, only show' },
  },
  async run(options) {
    const merchantId = merchantOption(options)
    const mode = options.required('mode') as Mode
    if (!MODES.includes(mode)) throw new UsageError('--mode must be sandbox or live.')
    const text = options.text('send')
    const wanted = RECEIPT_SENDS.find((each) => each === text)
    if (text !== undefined && !wanted) throw new UsageError(`--send must be one of ${RECEIPT_SENDS.join(', ')}.`)
    const sends = await withDatabase((deps) => changeReceipts(deps, actor(), { merchantId, mode }, wanted))
    const needsMail = sends !== 'never' && !readConfig(process.env).smtpUrl
    const hint = needsMail ? '\nThe service sends them over SMTP_URL, which is not set here.' : ''
    print(options.json, { merchantId, mode, sends }, SAYS[sends] + hint)
  },
}
