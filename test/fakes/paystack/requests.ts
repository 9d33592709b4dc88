/** What the fake takes: the documented fields in their documented types, and nothing else. */
type Check = (value: unknown) => boolean

const text: Check = (value) => typeof value === 'string' && value.length > 0
const object: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const email: Check = (value) => typeof value === 'string' && /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(value)
// Underscores and pipes are not in their alphabet.
const reference: Check = (value) => typeof value === 'string' && /^[A-Za-z0-9.=-]+$/.test(value)
const address: Check = (value) => typeof value === 'string' && URL.canParse(value)
// Whole, and never as text: naira with a point would be a hundredth of what was meant.
const amount: Check = (value) => Number.isSafeInteger(value) && (value as number) > 0
const stringified: Check = (value) => {
  try {
    return typeof value === 'string' && object(JSON.parse(value))
  } catch {
    return false
  }
}

export const MINIMUMS: Record<string, number> = { NGN: 5_000, USD: 200, GHS: 10, ZAR: 100, KES: 300, XOF: 100 }
const CHANNELS = ['card', 'bank', 'ussd', 'qr', 'eft', 'mobile_money', 'bank_transfer']
const currency: Check = (value) => typeof value === 'string' && Object.hasOwn(MINIMUMS, value)

interface Form {
  needs: Record<string, Check>
  takes: Record<string, Check>
}

const account: Check = (value) => {
  const { currency: of, account_number, bank_id, ...others } = (value ?? {}) as Record<string, unknown>
  const isWhole = currency(of) && /^\d{10}$/.test(String(account_number)) && /^\d+$/.test(String(bank_id))
  return isWhole && typeof bank_id === 'string' && Object.keys(others).length === 0
}
type Body = Record<string, unknown>
const PROVIDERS = ['mtn', 'atl', 'vod', 'mpesa', 'mpesa_offline', 'orange', 'wave']
const mobileMoney: Check = (value) => {
  const { phone, provider, ...others } = (value ?? {}) as Body
  const isPhone = phone === undefined ? provider === 'mpesa_offline' : /^(0\d{9}|\+254\d{9})$/.test(String(phone))
  return isPhone && PROVIDERS.includes(String(provider)) && Object.keys(others).length === 0
}
export const RETRY = { needs: { refund_account_details: account }, takes: {} }

export const FORMS = {
  '/transaction/initialize': {
    needs: { email, amount },
    takes: {
      reference,
      currency,
      callback_url: address,
      channels: (value) => Array.isArray(value) && value.every((channel) => CHANNELS.includes(channel)),
      metadata: object,
    },
  },
  '/transaction/charge_authorization': {
    needs: { email, amount, authorization_code: text },
    takes: { reference, currency, callback_url: address, metadata: stringified, queue: (value) => value === true },
  },
  '/charge': {
    needs: { email, amount },
    takes: {
      ...{ reference, currency, metadata: object, bank_transfer: object, mobile_money: mobileMoney },
      ussd: (value) => object(value) && ['737', '919', '822', '966'].includes(String((value as Body).type)),
      qr: (value) => object(value) && (value as Body).provider === 'scan-to-pay',
    },
  },
  '/charge/submit_otp': { needs: { otp: text, reference }, takes: {} },
  '/refund': {
    needs: { transaction: text },
    takes: { amount, currency, customer_note: text, merchant_note: text },
  },
} satisfies Record<string, Form>

/** What is wrong with a request, as they would code it; undefined when nothing is. */
export function findFault(
  path: keyof typeof FORMS | 'retry',
  body: Record<string, unknown>,
): { code: string; message: string } | undefined {
  const { needs, takes }: Form = path === 'retry' ? RETRY : FORMS[path]
  for (const name of Object.keys(needs)) {
    if (body[name] === undefined) return { code: 'missing_params', message: `Missing required parameter: ${name}` }
  }
  for (const [name, value] of Object.entries(body)) {
    const check = needs[name] ?? takes[name]
    if (!check) return { code: 'invalid_params', message: `"${name}" is not allowed` }
    if (!check(value)) return { code: 'invalid_params', message: `"${name}" is not valid` }
  }
  const least = MINIMUMS[String(body.currency ?? 'NGN')] ?? 0
  const isWhole = body.currency !== 'XOF' || Number(body.amount) % 100 === 0
  const isOfOther = path === '/refund' || path === 'retry' || path === '/charge/submit_otp'
  const isSum = isOfOther || (Number(body.amount) >= least && isWhole)
  return isSum ? undefined : { code: 'invalid_amount', message: 'Invalid Amount Sent' }
}
