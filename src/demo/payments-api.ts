import {
  type Attempt,
  Manilla,
  ManillaApiError,
  ManillaConnectionError,
  type Payment,
  type TransferInstructions,
} from '../../clients/typescript/src/index.ts'
import type { LiveLog } from './live-log.ts'

export type { Attempt, Payment }
export type Account = Pick<TransferInstructions, 'bankName' | 'accountNumber' | 'accountName' | 'amountToTransfer'>

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
  user: { id: string; email: string; phoneNumber: string | null }
  customerBearsCharge: boolean
  redirectURL: string
  webhook: string
  metadata: Record<string, string>
  currency: string
  country: string
}

/** An order and the visitor who asks for it. */
interface OfVisitor {
  reference: string
  visitor: string
}

const ofVisitor = ({ reference, user }: Order): OfVisitor => ({ reference, visitor: user.id })

const PATIENCE_MS = 20_000
// The sandbox provider.
const PROVIDER = 'gateway'

export type PaymentsApi = ReturnType<typeof paymentsApi>

/** The shop's calls, through the client library that merchants use. Each request is a line of the log. */
export function paymentsApi({
  address,
  credential,
  log,
}: {
  address: () => string
  credential: { clientId: string; clientSecret: string }
  log: LiveLog
}) {
  function logged({ reference, visitor }: OfVisitor): typeof fetch {
    return async (url, request) => {
      const title = `${request?.method} ${new URL(String(url)).pathname}`
      const line = { kind: 'request' as const, title, reference, visitor }
      const sent = typeof request?.body === 'string' ? [{ label: 'sent', body: JSON.parse(request.body) }] : []
      const response = await fetch(url, request).catch((error: unknown) => {
        log.add({ ...line, ok: false, outcome: 'no answer', bodies: sent })
        throw error
      })
      const answer = (await response
        .clone()
        .json()
        .catch(() => ({}))) as { data?: { status?: string; user?: { id?: string | null } } }
      const { status, user } = answer.data ?? {}
      if (user && user.id !== visitor) return response // the order of another visitor
      log.add({
        ...line,
        ok: response.ok,
        outcome: status ? `${response.status}, ${status}` : String(response.status),
        bodies: [...sent, { label: 'answered', body: answer }],
      })
      return response
    }
  }

  async function call<Data>(order: OfVisitor, make: (manilla: Manilla) => Promise<Data>): Promise<Data> {
    const deadlineMs = PATIENCE_MS // a customer waits for the page
    try {
      return await make(new Manilla({ baseUrl: address(), ...credential, deadlineMs, fetch: logged(order) }))
    } catch (error) {
      if (error instanceof ManillaConnectionError) throw new Refused(502, 'The payment service did not answer.')
      if (!(error instanceof ManillaApiError)) throw error
      throw new Refused(error.status, error.errors.map(({ message }) => message).join(' ') || error.detail)
    }
  }

  /** What the customer does elsewhere. Sandbox only, so the client library has no such call. */
  async function play(order: OfVisitor, path: string, body: object): Promise<void> {
    const response = await logged(order)(`${address()}/sandbox/${PROVIDER}/${path}`, {
      method: 'POST',
      headers: {
        'client-id': credential.clientId,
        'client-secret': credential.clientSecret,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    }).catch(() => undefined)
    if (!response?.ok) throw new Refused(502, 'The sandbox did not do this for the customer.')
  }

  return {
    createCheckout: (order: Order) => call(ofVisitor(order), ({ checkouts }) => checkouts.create(order)),

    /** Opens an account number for this order. */
    openAccount: (order: Order) =>
      call(ofVisitor(order), ({ payments }) =>
        payments.initialize({ provider: `${PROVIDER}-virtual-bank-account`, ...order }),
      ),

    /** The network asks on this phone. */
    askPhone: (order: Order, phoneNumber: string) =>
      call(ofVisitor(order), ({ payments }) =>
        payments.initialize({ provider: `${PROVIDER}-mobile-money`, ...order, phoneNumber }),
      ),

    /** The payment may be of another visitor: the caller checks it. */
    payment: (order: OfVisitor) => call(order, ({ payments }) => payments.retrieve(order.reference)),

    /** Simulates the customer's bank. */
    sendTransfer: (order: OfVisitor, accountNumber: string, amount: number) =>
      play(order, 'transfers', { accountNumber, amount }),

    /** Simulates the customer's phone. */
    answerPhone: (order: OfVisitor, providerReference: string, answer: 'approve' | 'refuse') =>
      play(order, `prompts/${encodeURIComponent(providerReference)}`, { answer }),
  }
}
