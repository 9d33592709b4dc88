import type { LiveLog } from './live-log.ts'

/** The fields of API responses that the shop uses. */
export interface Payment {
  reference: string
  status: 'pending' | 'successful' | 'cancelled' | 'expired'
  amount: number
  amountPaid: number
  currency: string
  url: string
  metadata: Record<string, string>
  attempts: Attempt[]
}

interface Attempt {
  channel: 'card' | 'virtual-bank-account'
  status: string
  amountCharged: number
  amountReceived: number
  fee: number
  failure: { message: string } | null
  instructions: Partial<Account> | null
}

export interface Account {
  bankName: string
  accountNumber: string
  accountName: string
  amountToTransfer: number
}

/** The service refused the call or did not answer. */
export class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface Order {
  reference: string
  amount: number
  user: { id: string; email: string }
  customerBearsCharge: boolean
  redirectURL: string
  webhook: string
  metadata: Record<string, string>
}

const PATIENCE_MS = 20_000
// The sandbox provider.
const PROVIDER = 'gateway'

export type PaymentsApi = ReturnType<typeof paymentsApi>

/** The shop's API client. It calls the service over HTTP with a merchant's credential. */
export function paymentsApi({
  address,
  credential,
  log,
}: {
  address: () => string
  credential: { clientId: string; clientSecret: string }
  log: LiveLog
}) {
  const secrets = { 'client-id': credential.clientId, 'client-secret': credential.clientSecret }

  async function call<Data>(method: 'GET' | 'POST', path: string, reference: string, body?: unknown): Promise<Data> {
    const line = { kind: 'request' as const, title: `${method} ${path}`, reference }
    const sent = body === undefined ? [] : [{ label: 'sent', body }]
    const response = await fetch(address() + path, {
      method,
      headers: { ...secrets, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    }).catch(() => {
      log.add({ ...line, ok: false, outcome: 'no answer', bodies: sent })
      throw new Refused(502, 'The payment service did not answer.')
    })
    const answer = (await response.json().catch(() => ({}))) as Answer<Data>
    const { status } = answer.data ?? {}
    log.add({
      ...line,
      ok: response.ok,
      outcome: status ? `${response.status}, ${status}` : String(response.status),
      bodies: [...sent, { label: 'answered', body: answer }],
    })
    if (!response.ok || !answer.data) throw new Refused(response.status, refusalIn(answer))
    return answer.data
  }

  return {
    createCheckout: (order: Order) =>
      call<{ url: string; reference: string }>('POST', '/payments/v1/checkouts', order.reference, {
        ...order,
        country: 'NG',
      }),

    /** Opens an account number for this order. */
    openAccount: (order: Order) =>
      call<{ data: Account }>('POST', '/payments/v1/payments/initialize', order.reference, {
        provider: `${PROVIDER}-virtual-bank-account`,
        ...order,
      }),

    payment: (reference: string) =>
      call<Payment>('GET', `/payments/v1/payments/${encodeURIComponent(reference)}`, reference),

    /** Simulates the customer's bank. Sandbox only. */
    sendTransfer: (reference: string, accountNumber: string, amount: number) =>
      call<unknown>('POST', `/sandbox/${PROVIDER}/transfers`, reference, { accountNumber, amount }),
  }
}

type Answer<Data> = {
  data?: Data & { status?: string }
  detail?: string
  errors?: { message: string }[]
  error?: { message: string }
}

function refusalIn({ detail, errors, error }: Answer<unknown>): string {
  const mistakes = errors?.map(({ message }) => message).join(' ')
  return mistakes || detail || error?.message || 'The payment service refused.'
}
