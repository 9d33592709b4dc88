import { USSD_BANKS } from '../../../src/providers/flutterwave/capabilities.ts'
import type { Said } from '../upstream.ts'
import { accept, DUPLICATE, refuse, succeed } from './answers.ts'
import type { Books, FakeOrder, Try } from './state.ts'

interface Kind {
  currencies: string[]
  needed?: string[]
  optional?: string[]
  /** In any case of letters, as in the schema of Flutterwave's library. */
  networks?: string[]
  /** How the transaction is shown. */
  type: string
  authModel: string
  answer: 'page, and no transaction yet' | 'prompt' | 'prompt or page' | 'code to dial' | 'page of the bank'
}

const PHONE = ['phone_number']

/** `POST /v3/charges?type=`, by what Flutterwave's library and pages say of each. */
const KINDS: Record<string, Kind> = {
  mobile_money_ghana: {
    ...{ currencies: ['GHS'], needed: [...PHONE, 'network'], networks: ['MTN', 'TELECEL', 'VODAFONE', 'TIGO'] },
    ...{ type: 'mobilemoneygh', authModel: 'MOBILEMONEY', answer: 'page, and no transaction yet' },
  },
  mobile_money_uganda: {
    ...{ currencies: ['UGX'], needed: [...PHONE, 'network'], networks: ['MTN', 'AIRTEL'] },
    ...{ type: 'mobilemoneyug', authModel: 'MOBILEMONEY', answer: 'page, and no transaction yet' },
  },
  mobile_money_rwanda: {
    ...{ currencies: ['RWF'], needed: [...PHONE, 'order_id'], optional: ['network'], networks: ['MTN', 'AIRTEL'] },
    ...{ type: 'mobilemoneyrw', authModel: 'MOBILEMONEY', answer: 'page, and no transaction yet' },
  },
  mobile_money_zambia: {
    ...{ currencies: ['ZMW'], needed: [...PHONE, 'order_id'], optional: ['network'] },
    networks: ['MTN', 'AIRTEL', 'ZAMTEL'],
    ...{ type: 'mobilemoneyzm', authModel: 'MOBILEMONEY', answer: 'page, and no transaction yet' },
  },
  mobile_money_tanzania: {
    ...{ currencies: ['TZS'], needed: PHONE, optional: ['network'] },
    networks: ['HALOPESA', 'AIRTEL', 'TIGO', 'VODACOM'],
    ...{ type: 'mobilemoneytz', authModel: 'MOBILEMONEY', answer: 'prompt' },
  },
  mobile_money_franco: {
    ...{ currencies: ['XOF', 'XAF'], needed: [...PHONE, 'country', 'network'] },
    networks: ['WAVE', 'MTN', 'ORANGEMONEY'],
    ...{ type: 'mobilemoneysn', authModel: 'AUTH', answer: 'prompt or page' },
  },
  mpesa: { currencies: ['KES'], needed: PHONE, type: 'mpesa', authModel: 'LIPA_MPESA', answer: 'prompt' },
  ussd: { currencies: ['NGN'], needed: ['account_bank'], type: 'ussd', authModel: 'USSD', answer: 'code to dial' },
  mono: { currencies: ['NGN'], type: 'account', authModel: 'INTERNET_BANKING', answer: 'page of the bank' },
}

const COMMON = ['tx_ref', 'amount', 'currency', 'email']
const OPTIONAL = ['fullname', 'phone_number', 'client_ip', 'device_fingerprint', 'meta', 'redirect_url', 'voucher']

export function charges(books: Books, ownURL: () => string): (type: string, body: string) => Said {
  return (type, body) => {
    if (type === 'bank_transfer') return openAccount(body)
    const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
    return kind ? charge(kind, body) : refuse(400, 'type is invalid')
  }

  function charge(kind: Kind, body: string): Said {
    const { currencies, needed = [], optional = [], networks = [], type, authModel } = kind
    const fields = accept(body, [...COMMON, ...needed], [...OPTIONAL, ...optional])
    if (typeof fields === 'string') return refuse(400, fields)
    const { network, phone_number: phone, account_bank: bank } = fields as Record<string, string | undefined>
    if (!currencies.includes(String(fields.currency))) return refuse(400, 'currency is invalid')
    if (network !== undefined && !networks.includes(network.toUpperCase())) return refuse(400, 'network is invalid')
    if (needed.includes('phone_number') && !/^\d{11,13}$/.test(phone ?? '')) return refuse(400, 'Invalid phone number')
    if (bank !== undefined && !USSD_BANKS.some(({ code }) => code === bank)) return refuse(400, 'bank is invalid')
    if (books.orders.has(String(fields.tx_ref))) return refuse(400, DUPLICATE)
    const order = books.addOrder(fields, fields.email, { type, authModel })
    const said = (response: string, more: object = {}) => {
      const open = books.addTry(order, { status: 'pending', response })
      return { ...books.record(open, false), ...more }
    }
    const page = `${ownURL()}/captcha/verify/lang-en/${order.reference}`
    const redirect = { meta: { authorization: { redirect: page, mode: 'redirect' } } }
    switch (kind.answer) {
      case 'page, and no transaction yet':
        return succeed('Charge initiated', redirect)
      case 'prompt':
        return succeed('Charge initiated', { data: said('Successful', { auth_url: 'N/A' }) })
      case 'prompt or page': {
        const data = said('Transaction in progress')
        const callback = { meta: { authorization: { mode: 'callback', redirect_url: null } } }
        return succeed('Charge initiated', { data, ...(network === 'WAVE' ? redirect : callback) })
      }
      case 'code to dial': {
        const payment_code = String(books.nextId())
        const meta = { authorization: { mode: 'ussd', note: `*566*002*${payment_code}#` } }
        return succeed('Charge initiated', { data: said('Transaction in progress', { payment_code }), meta })
      }
      case 'page of the bank': {
        const meta = { authorization: { mode: 'redirect', redirect: page, validate_instructions: '' } }
        return succeed('Charge initiated', { data: said('Pending validation', { auth_url: page, meta }) })
      }
    }
  }

  function openAccount(body: string): Said {
    const { odd } = books
    const isNaira = body.includes('"currency":"NGN"')
    const own = isNaira ? ['narration', 'expires', 'is_permanent'] : ['bank_transfer_options']
    const fields = accept(body, COMMON, ['fullname', 'phone_number', 'client_ip', 'meta', ...own])
    if (typeof fields === 'string') return refuse(400, fields)
    if (!isNaira && fields.currency !== 'GHS') return refuse(400, 'currency must be NGN or GHS')
    const { expires = (fields.bank_transfer_options as { expires?: unknown })?.expires } = fields
    if (!Number.isInteger(expires)) return refuse(400, 'expires must be seconds')
    if (books.orders.has(String(fields.tx_ref))) return refuse(400, DUPLICATE)
    const { amount } = books.addOrder(fields, fields.email).amount
    const until = new Date(Date.now() + Number(expires) * 1000)
    const expiry = {
      milliseconds: until.getTime(),
      'milliseconds as text': String(until.getTime()),
      ISO: until.toISOString(),
      local: until.toISOString().slice(0, 19).replace('T', ' '),
    }
    const authorization = {
      transfer_reference: `MockFLWRef-${books.nextId()}`,
      transfer_account: '0067100155',
      transfer_bank: 'Mock Bank',
      account_expiration: expiry[odd.expiryAs],
      transfer_note: 'Mock note',
      transfer_amount: ((amount + odd.customerBears) / 100).toFixed(2),
      mode: 'banktransfer',
    }
    return succeed('Charge initiated', { meta: { authorization } })
  }
}

/** Customers who are asked on the phone, dial, or are on the page of a network or a bank. */
export function phones({ find, triesOf, addTry, change }: Books) {
  /** The try that is under way, also one that has failed already. Where the page comes first there is none yet. */
  const answer = (order: FakeOrder, changes: Partial<Try>) => {
    const open = triesOf(order.reference).findLast(({ status }) => status !== 'successful')
    if (open) change(open, changes)
    else addTry(order, changes)
  }
  return {
    async approve(reference: string) {
      answer(find(reference), { status: 'successful', response: 'Approved' })
    },
    async refuse(reference: string) {
      answer(find(reference), { status: 'failed', response: 'Request cancelled by user' })
    },
    /** Of a prompt they tell that nobody answered. A code that nobody dialled and a page stay open. */
    async expire(reference: string) {
      const open = triesOf(reference).findLast(({ status }) => status === 'pending')
      if (open && /^(mpesa|mobilemoney)/.test(open.type)) {
        change(open, { status: 'failed', response: 'No response from user' })
      }
    },
  }
}
