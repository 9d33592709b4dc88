/**
 * What the fake Stripe has written down, and what its customers do. Its objects look as the real ones do, but for
 * fields that nobody reads.
 */
export interface Session {
  id: string
  asked: Record<string, string>
  status: 'open' | 'complete' | 'expired'
  created: number
  intent: Intent | null
}

export interface Intent {
  id: string
  reference: string
  status: string
  amount: number
  received: number
  currency: string
  created: number
  customer: string | null
  paymentMethod: string | null
  keeps: boolean
  charges: { id: string; created: number; status: 'succeeded' | 'failed' }[]
  lastError: object | null
  nextAction: object | null
  cancellationReason: string | null
  returnURL: string | null
}

export interface Refund {
  id: string
  intent: Intent
  amount: number
  status: string
  created: number
  metadata: Record<string, string>
}

export interface Dispute {
  id: string
  intent: Intent
  amount: number
  reason: string
  status: string
  created: number
  /** What it has moved on the balance: money withdrawn, and money reinstated. */
  moves: number[]
}

type Charge = Intent['charges'][number]
type Wanted = (what: string) => boolean
const NOTHING: Wanted = () => false

export function createBooks(url: () => string) {
  const sessions: Session[] = []
  const intents: Intent[] = []
  const refunds: Refund[] = []
  const disputes: Dispute[] = []
  const events: Buffer[] = []
  /** Cards that are kept, and what becomes of a charge. */
  const cards = new Map<string, { customer: string; does: 'pay' | 'decline' | 'ask' }>([
    ['pm_paying', { customer: 'cus_ada', does: 'pay' }],
    ['pm_declining', { customer: 'cus_ada', does: 'decline' }],
    ['pm_asking', { customer: 'cus_ada', does: 'ask' }],
  ])
  const odd = { livemode: false, refundStatus: 'succeeded' }
  let ids = 0
  const newId = (prefix: string) => `${prefix}_${(++ids).toString().padStart(14, '0')}`
  const now = () => Math.floor(Date.now() / 1000)

  function tell(type: string, object: object): void {
    events.push(eventOf(type, object))
  }

  function eventOf(type: string, object: object): Buffer {
    const request = { id: null, idempotency_key: null }
    const head = { id: newId('evt'), object: 'event', api_version: '2026-10-28.endive', created: now(), type, request }
    return Buffer.from(JSON.stringify({ ...head, livemode: odd.livemode, pending_webhooks: 1, data: { object } }))
  }

  function openSession(asked: Record<string, string>): Session {
    const session: Session = { id: newId('cs_test'), asked, status: 'open', created: now(), intent: null }
    sessions.push(session)
    return session
  }

  function openIntent(asked: Partial<Intent>): Intent {
    const intent: Intent = {
      ...{ id: newId('pi'), reference: '', status: 'requires_payment_method', amount: 0, received: 0, currency: 'usd' },
      ...{ created: now(), customer: null, paymentMethod: null, keeps: false, charges: [], lastError: null },
      ...{ nextAction: null, cancellationReason: null, returnURL: null },
      ...asked,
    }
    intents.push(intent)
    return intent
  }

  /** Made when the customer first presses the button, not before. */
  function intentOf(session: Session): Intent {
    const { asked } = session
    session.intent ??= openIntent({
      reference: asked['payment_intent_data[metadata][reference]'] ?? '',
      amount: Number(asked['line_items[0][price_data][unit_amount]']),
      currency: asked['line_items[0][price_data][currency]'] ?? '',
      keeps: asked['payment_intent_data[setup_future_usage]'] === 'off_session',
    })
    return session.intent
  }

  function succeed(intent: Intent): void {
    intent.charges.push({ id: newId('ch'), created: now(), status: 'succeeded' })
    Object.assign(intent, { status: 'succeeded', received: intent.amount, lastError: null, nextAction: null })
    tell('payment_intent.succeeded', intentObject(intent))
  }

  function decline(intent: Intent, declineCode = 'insufficient_funds'): void {
    const id = newId('ch')
    intent.charges.push({ id, created: now(), status: 'failed' })
    const message = 'Your card has insufficient funds.'
    const error = { type: 'card_error', code: 'card_declined', decline_code: declineCode, message, charge: id }
    Object.assign(intent, { status: 'requires_payment_method', lastError: error, nextAction: null })
    tell('payment_intent.payment_failed', intentObject(intent))
  }

  function paySession(session: Session): void {
    if (session.status !== 'open') return
    const intent = intentOf(session)
    if (session.asked.customer_creation === 'always') intent.customer = newId('cus')
    intent.paymentMethod = newId('pm')
    if (intent.keeps && intent.customer) cards.set(intent.paymentMethod, { customer: intent.customer, does: 'pay' })
    succeed(intent)
    session.status = 'complete'
    tell('checkout.session.completed', sessionObject(session))
  }

  function expireSession(session: Session): void {
    if (session.status !== 'open') return
    session.status = 'expired'
    tell('checkout.session.expired', sessionObject(session))
  }

  function giveBack(intent: Intent, amount: number, metadata: Record<string, string>): Refund {
    const refund = { id: newId('re'), intent, amount, status: odd.refundStatus, created: now(), metadata }
    refunds.push(refund)
    tell('refund.created', refundObject(refund))
    tell('charge.refunded', chargeObject(intent))
    return refund
  }

  /** The bank takes the money when the dispute is opened. A bank's inquiry (`warning_…`) takes none. */
  function dispute(
    intent: Intent,
    { amount, reason, status = 'needs_response' }: { amount: number; reason: string; status?: string },
  ): Dispute {
    const isInquiry = status.startsWith('warning_')
    const moves = isInquiry ? [] : [-amount]
    const opened: Dispute = { id: newId('du'), intent, amount, reason, status, created: now(), moves }
    disputes.push(opened)
    tell('charge.dispute.created', disputeObject(opened))
    if (!isInquiry) tell('charge.dispute.funds_withdrawn', disputeObject(opened))
    return opened
  }

  function closeDispute(closed: Dispute, outcome: 'won' | 'lost'): void {
    const isInquiry = closed.status.startsWith('warning_')
    closed.status = isInquiry ? 'warning_closed' : outcome
    if (outcome === 'won' && !isInquiry) closed.moves.push(closed.amount)
    tell('charge.dispute.closed', disputeObject(closed))
    if (outcome === 'won' && !isInquiry) tell('charge.dispute.funds_reinstated', disputeObject(closed))
  }

  const disputesOf = (intent: Intent) => disputes.filter((one) => one.intent === intent)

  function refundedOf(intent: Intent): number {
    const given = refunds.filter(({ intent: of, status }) => of === intent && !['failed', 'canceled'].includes(status))
    return given.reduce((sum, { amount }) => sum + amount, 0)
  }

  const leftOf = (intent: Intent) => intent.received - refundedOf(intent)
  const isDisputed = (intent: Intent) => disputesOf(intent).some(({ moves }) => moves.length === 1)

  function sessionObject(session: Session, wants: Wanted = NOTHING): Record<string, unknown> {
    const { id, asked, status, created, intent } = session
    const isOpen = status === 'open'
    const whole = intent && wants('payment_intent')
    return {
      ...{ id, object: 'checkout.session', mode: 'payment', status, created, livemode: odd.livemode },
      payment_status: intent?.status === 'succeeded' ? 'paid' : 'unpaid',
      amount_total: Number(asked['line_items[0][price_data][unit_amount]']),
      currency: asked['line_items[0][price_data][currency]'],
      client_reference_id: asked.client_reference_id ?? null,
      metadata: { reference: asked['metadata[reference]'] },
      payment_intent: whole ? intentObject(intent, (what) => wants(`payment_intent.${what}`)) : (intent?.id ?? null),
      expires_at: Number(asked.expires_at),
      url: isOpen ? `${url()}/c/pay/${id}` : null,
      ...{ customer: intent?.customer ?? null, customer_email: asked.customer_email, payment_method_types: ['card'] },
      ...{ adaptive_pricing: { enabled: false }, success_url: asked.success_url, cancel_url: asked.cancel_url },
    }
  }

  function intentObject(intent: Intent, wants: Wanted = NOTHING): Record<string, unknown> {
    const { id, reference, status, amount, received, currency, created, customer, paymentMethod, charges } = intent
    return {
      ...{ id, object: 'payment_intent', status, amount, amount_received: received, currency, created, customer },
      ...{
        livemode: odd.livemode,
        metadata: { reference },
        payment_method: paymentMethod,
        capture_method: 'automatic',
      },
      setup_future_usage: intent.keeps ? 'off_session' : null,
      latest_charge: charges.length > 0 && wants('latest_charge') ? chargeObject(intent) : (charges.at(-1)?.id ?? null),
      last_payment_error: intent.lastError,
      next_action: intent.nextAction,
      cancellation_reason: intent.cancellationReason,
      ...{ client_secret: `${id}_secret_x`, payment_method_types: ['card'] },
    }
  }

  function chargeObject(intent: Intent, charge: Charge | undefined = intent.charges.at(-1)): Record<string, unknown> {
    const { amount, currency, reference, id: payment_intent } = intent
    const isPaid = charge?.status === 'succeeded'
    const card = { brand: 'visa', last4: '4242', exp_month: 8, exp_year: 2036, funding: 'credit', country: 'US' }
    return {
      ...{ ...charge, object: 'charge', amount, currency, livemode: odd.livemode, payment_intent },
      ...{
        metadata: { reference },
        amount_captured: isPaid ? amount : 0,
        amount_refunded: isPaid ? refundedOf(intent) : 0,
        disputed: isPaid && disputesOf(intent).length > 0,
        payment_method_details: { type: 'card', card },
      },
    }
  }

  function refundObject({ id, intent, amount, status, created, metadata }: Refund): Record<string, unknown> {
    const { id: payment_intent, currency, charges } = intent
    const charge = charges.at(-1)?.id
    return { id, object: 'refund', amount, charge, created, currency, metadata, payment_intent, reason: null, status }
  }

  function disputeObject({ id, intent, amount, reason, status, created, moves }: Dispute): Record<string, unknown> {
    const { id: payment_intent, currency, charges } = intent
    const about = { payment_intent, charge: charges.at(-1)?.id, amount, currency, livemode: odd.livemode, created }
    return {
      ...{ id, object: 'dispute', ...about, status, reason, metadata: {}, is_charge_refundable: moves.length === 0 },
      evidence_details: { due_by: created + 7 * 86_400, has_evidence: false, past_due: false, submission_count: 0 },
      balance_transactions: moves.map((move) => ({ id: newId('txn'), object: 'balance_transaction', amount: move })),
    }
  }

  return {
    ...{
      sessions,
      intents,
      refunds,
      disputes,
      events,
      cards,
      odd,
      newId,
      now,
      tell,
      eventOf,
      openSession,
      openIntent,
      intentOf,
    },
    ...{
      succeed,
      decline,
      paySession,
      expireSession,
      giveBack,
      refundedOf,
      leftOf,
      isDisputed,
      dispute,
      closeDispute,
      disputesOf,
    },
    ...{ sessionObject, intentObject, chargeObject, refundObject, disputeObject },
  }
}

export type Books = ReturnType<typeof createBooks>
