import type { Said } from '../upstream.ts'
import { ok, refuse } from './answers.ts'
import type { Sale } from './state.ts'

/** `POST /charge` and what follows it, with the bodies of PaystackOSS/doc-code-snippets. */

interface Desk {
  sales: Map<string, Sale>
  open(body: Record<string, unknown>, more: Partial<Sale>): Sale
  url(): string
}

type Body = Record<string, unknown>

/** The code that the network takes; any other is wrong. */
export const RIGHT_CODE = '123456'
const ON_THE_PHONE = 'Please complete authorization process on your mobile phone'
const CURRENCIES: Record<string, string[]> = {
  mobile_money: ['GHS', 'KES', 'XOF'],
  ussd: ['NGN'],
  qr: ['ZAR'],
  bank_transfer: ['NGN', 'KES'],
}
const CODES: Record<string, string> = {
  vod: 'Please dial *110# to generate a voucher code. Then input the voucher',
  orange: 'Please dial #144*82# to generate a code. Then input the code',
}

export function chargesOf({ sales, open, url }: Desk) {
  function charge(body: Body): Said {
    const channel = Object.keys(CURRENCIES).find((name) => body[name] !== undefined)
    if (!channel) return refuse(400, 'missing_params', 'The fake charges by a channel alone')
    if (!CURRENCIES[channel]?.includes(String(body.currency ?? 'NGN'))) {
      return refuse(400, 'unsupported_currency', `Currency not supported by ${channel}`)
    }
    if (channel === 'bank_transfer') return transferInto(body)
    const sale = open(body, { channel: channel as Sale['channel'], status: 'ongoing' })
    const attempted = (more: object) => ok('Charge attempted', { reference: sale.reference, ...more })
    if (channel === 'ussd') {
      const ussd_code = `*${(body.ussd as Body).type}*33*4*${18_791 + sales.size}#`
      const display_text = `Please dial ${ussd_code} on your mobile phone to complete the transaction`
      return attempted({ status: 'pay_offline', display_text, ussd_code })
    }
    if (channel === 'qr') {
      const qr_code = `0002010216421527000104176552045499530356654031005802ZA62230519PSTK_${sale.id}6304713a`
      return attempted({ status: 'pay_offline', url: `${url()}/qr/${sale.code}.png`, qr_code })
    }
    const { provider } = body.mobile_money as Body
    const display_text = CODES[String(provider)]
    if (display_text) return attempted({ status: 'send_otp', display_text })
    if (provider === 'wave') return attempted({ status: 'open_url', url: `${url()}/checkout/${sale.code}` })
    const paybill = { account_number: '4084333', account_reference: 1_234_567 }
    const account = provider === 'mpesa_offline' ? paybill : {}
    return attempted({ status: 'pay_offline', display_text: ON_THE_PHONE, ...account })
  }

  function transferInto(body: Body): Said {
    const { account_expires_at } = body.bank_transfer as { account_expires_at: string | null }
    const ahead = account_expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(account_expires_at) - Date.now()
    if (Number.isNaN(ahead)) return refuse(400, 'invalid_params', '"account_expires_at" is not valid')
    const isPesalink = body.currency === 'KES'
    const most = isPesalink ? 1_500_000 : 28_800_000
    const expiresAt = new Date(Date.now() + Math.min(Math.max(ahead, 900_000), most)).toISOString()
    const number = String(1_260_257_501 + sales.size)
    const sale = open(body, { channel: 'bank_transfer', status: 'ongoing', account: { number, expiresAt } })
    const pesalink = {
      account_name: 'Paystack Payments Kenya Limited',
      bank: { slug: 'dtbk-bank', name: 'Diamond Trust Bank Kenya Ltd', id: 225 },
      amount: sale.amount,
      transaction_reference: String(1_234_567 + sales.size),
    }
    return ok('Charge attempted', {
      ...{ reference: sale.reference, status: 'pending_bank_transfer' },
      display_text: 'Please make a transfer to the account specified',
      ...{ account_name: 'PAYSTACK CHECKOUT', account_number: number, account_expires_at: expiresAt },
      bank: { slug: 'test-bank', name: 'Test Bank', id: 24 },
      ...(isPesalink && pesalink),
    })
  }

  function submitCode({ otp, reference }: Body): Said {
    const sale = sales.get(String(reference))
    if (sale?.channel !== 'mobile_money' || sale.status !== 'ongoing' || sale.isCodeGiven) {
      return refuse(400, 'invalid_params', 'Transaction reference is invalid')
    }
    if (otp !== RIGHT_CODE) return refuse(400, 'invalid_otp', 'The otp provided is incorrect')
    sale.isCodeGiven = true
    return ok('Charge attempted', { reference, status: 'pay_offline', display_text: ON_THE_PHONE })
  }

  return { charge, submitCode }
}

const PHONES = { exp_month: '12', exp_year: '9999', card_type: '', reusable: false, signature: null }
const OFFLINE = { ...PHONES, bin: 'XXXXXX', last4: 'XXXX', card_type: 'offline', brand: 'offline' }

/** What was paid with. None of these is a card that can be charged again. */
export const AUTHORIZATIONS: Record<Exclude<Sale['channel'], 'card'>, object> = {
  bank_transfer: {
    channel: 'bank_transfer',
    reusable: false,
    sender_name: 'Ada',
    sender_bank_account_number: 'XXX321',
  },
  mobile_money: {
    ...{ ...PHONES, authorization_code: 'AUTH_0aqm8ddx6s', bin: '055XXX', last4: 'X149', channel: 'mobile_money' },
    ...{ bank: 'MTN Mobile Money', country_code: 'GH', brand: 'Mtn mobile money' },
  },
  ussd: { ...OFFLINE, authorization_code: 'AUTH_4c6mhnmmeusp4yd', channel: 'ussd', bank: 'Guaranty Trust Bank' },
  bank: {
    ...{ ...PHONES, authorization_code: 'AUTH_nrp5ly1goc', bin: '000XXX', last4: 'X000', channel: 'bank' },
    ...{ bank: 'Zenith Bank', country_code: 'NG', brand: 'Zenith Emandate' },
  },
  qr: {
    ...{ ...PHONES, authorization_code: 'AUTH_2b4zs69fgy7qflh', bin: '483953', last4: '6208', channel: 'qr' },
    ...{ exp_year: '2025', card_type: 'CREDIT', bank: 'ABSA BANK LIMITED, SOUTH AFRICA', brand: 'VISA' },
  },
  eft: { ...OFFLINE, authorization_code: 'AUTH_5eft8ddx6s', channel: 'eft', bank: 'Ozow' },
}
