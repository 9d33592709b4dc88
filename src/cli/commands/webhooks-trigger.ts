import { openDeps } from '../../compose.ts'
import { type Config, readConfig } from '../../config/config.ts'
import { knownKeys } from '../../config/generated-keys.ts'
import { ANNOUNCED, type AnnouncedType, isAnnounced } from '../../events/event.ts'
import { newReference, type PaymentId } from '../../kernel/ids.ts'
import { type Currency, formatMoney } from '../../kernel/money.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { randomPlace } from '../../kernel/place.ts'
import { expireNow } from '../../payments/store/payments.ts'
import { type Api, apiOf } from '../api.ts'
import { type Command, UsageError } from '../command.ts'
import { print } from '../print.ts'
import { findServiceUrls } from '../running-service.ts'
import { poll, sandboxProvider } from '../sandbox-provider.ts'

const AMOUNT = 1_250_000
const GOOD_CARD = '4084 0840 8408 4081'
const EMPTY_CARD = '4000 0000 0000 9995'
const EVENT_TIMEOUT_MS = 30_000
const FIRST_ATTEMPT_TIMEOUT_MS = 20_000

export const webhooksTrigger: Command = {
  name: 'webhooks trigger',
  summary: 'Trigger a webhook event with a real sandbox payment on the running service',
  options: {
    type: { value: 'TYPE', summary: ANNOUNCED.join(', '), required: true },
    webhook: { value: 'URL', summary: 'The `webhook` of that payment, which receives the event' },
    url: { value: 'URL', summary: 'URL of the service (default: the running service of DATA_DIR)' },
  },
  word: 'type',
  async run(options) {
    const type = options.text('type') ?? ''
    if (!isAnnounced(type)) {
      throw new UsageError(
        `${type ? `Unknown event "${type}".` : 'The event is missing.'} Events:\n${ANNOUNCED.map((each) => `  ${each}`).join('\n')}`,
      )
    }
    const config = readConfig(process.env)
    const baseUrl = options.text('url') ?? (await findServiceUrls(config)).serverUrl
    const scenario = await openScenario(config, baseUrl, options.text('webhook'))
    await TRIGGERS[type](scenario)
    const event = await scenario.waitFor(type)
    const deliveries = await waitForFirstAttempts(scenario.api, event.id)
    const results = deliveries.map(({ url, tries: [first] }) =>
      first
        ? `delivered to ${url}: ${first.status ?? first.error} in ${first.tookMs} ms`
        : `no response yet from ${url}`,
    )
    if (results.length === 0)
      results.push(
        'no delivery: no --webhook and no subscribed endpoint. A running `manilla webhooks listen` shows it.',
      )
    print(
      options.json,
      { type, event: event.id, sequence: event.sequence, payment: scenario.reference, did: scenario.did, deliveries },
      `${[...scenario.did, ...results].map((step) => `- ${step}`).join('\n')}\n\n${event.id}  ${type}  ${scenario.reference}  sequence ${event.sequence}`,
    )
  },
}

/** The steps that trigger each event. The type requires an entry for every event. */
const TRIGGERS: Record<AnnouncedType, (play: Scenario) => Promise<void>> = {
  'payment.successful': (scenario) => scenario.payByCard(GOOD_CARD),
  'attempt.failed': (scenario) => scenario.payByCard(EMPTY_CARD),
  async 'payment.cancelled'(scenario) {
    await scenario.makeLink()
    await scenario.api('POST', `/payments/v1/payments/${scenario.reference}/cancel`)
    scenario.did.push('cancelled it')
  },
  async 'payment.expired'(scenario) {
    await scenario.expire(await scenario.makeLink())
  },
  async 'payment.underpaid'(scenario) {
    await scenario.transfer(await scenario.openAccount(), AMOUNT / 2)
  },
  async 'payment.overpaid'(scenario) {
    await scenario.transfer(await scenario.openAccount(), AMOUNT * 2)
  },
  async 'payment.surplus'(scenario) {
    const account = await scenario.openAccount()
    await scenario.transfer(account, AMOUNT)
    await scenario.waitFor('payment.successful')
    await scenario.transfer(account, AMOUNT)
  },
  async 'refund.successful'(scenario) {
    await scenario.payByCard(GOOD_CARD)
    await scenario.waitFor('payment.successful')
    await scenario.api('POST', `/payments/v1/payments/${scenario.reference}/refunds`, { reason: 'webhooks trigger' })
    scenario.did.push('refunded it')
  },
  'refund.failed': () => {
    throw new OperatorError(
      'refund.failed cannot be triggered in the sandbox: its provider refuses only a refund that exceeds the payment, and Manilla never requests one. ' +
        'Its body is that of refund.successful, with `data.refund.status` "failed" and the reason in `data.refund.failure`.',
    )
  },
  'refund.needs_review': () => {
    throw new OperatorError(
      'refund.needs_review cannot be triggered in the sandbox: it needs a refund that the provider has not finished in time. ' +
        'Its body is that of refund.successful, with `data.refund.status` "pending" and the reason in `data.refund.needsReview`.',
    )
  },
  'settlement.paid': notByPayment,
  'settlement.difference': notByPayment,
  async 'case.opened'(scenario) {
    await scenario.transfer(await scenario.openAccount(), AMOUNT * 2)
  },
  async 'case.closed'(scenario) {
    await scenario.transfer(await scenario.openAccount(), AMOUNT * 2)
    const { data } = await scenario.waitFor('case.opened')
    await scenario.api('POST', `/payments/v1/cases/${data.case?.id}/close`, { note: 'webhooks trigger' })
    scenario.did.push('closed it with a note')
  },
  async 'dispute.opened'(scenario) {
    await scenario.openDispute()
  },
  async 'dispute.updated'(scenario) {
    const dispute = await scenario.openDispute()
    await scenario.waitFor('dispute.opened')
    await scenario.changeDispute(dispute, '', { reason: 'product_not_received' })
  },
  async 'dispute.won'(scenario) {
    await scenario.changeDispute(await scenario.openDispute(), '/close', { outcome: 'won' })
  },
  async 'dispute.lost'(scenario) {
    await scenario.changeDispute(await scenario.openDispute(), '/close', { outcome: 'lost' })
  },
}

function notByPayment(): never {
  throw new OperatorError(
    'It cannot be triggered in the sandbox by this command: a settlement is about many payments. Pay some, then call POST /sandbox/gateway/settlements and POST /payments/v1/settlements/refresh: docs/sandbox.md.',
  )
}

interface Scenario {
  api: Api
  reference: string
  /** The steps so far, for the output. */
  did: string[]
  makeLink(): Promise<PaymentId>
  payByCard(card: string): Promise<void>
  /** Returns the account number. */
  openAccount(): Promise<string>
  transfer(accountNumber: string, amount: number): Promise<void>
  expire(id: PaymentId): Promise<void>
  /** Pays by card and disputes the charge. Returns the provider's dispute id. */
  openDispute(): Promise<string>
  /** Changes or closes a dispute at the provider. */
  changeDispute(id: string, path: '' | '/close', body: object): Promise<void>
  /** Resolves with the event once it is recorded. */
  waitFor(type: AnnouncedType): Promise<{ id: string; sequence: number; data: { case?: { id: string } } }>
}

async function openScenario(config: Config, baseUrl: string, webhook: string | undefined): Promise<Scenario> {
  const { sandbox } = await knownKeys(config)
  if (!sandbox) {
    throw new OperatorError(
      `There are no sandbox credentials in ${config.dataDir}. Start the service (npm start), or set DATA_DIR (or SANDBOX_CLIENT_ID and SANDBOX_CLIENT_SECRET) as for the service.`,
    )
  }
  const api = apiOf(baseUrl, sandbox)
  const { provider, country, currency } = await sandboxProvider(api)
  const reference = `trigger-${newReference(new Date(), randomPlace())}`
  const did: string[] = []
  const wanted = { amount: AMOUNT, currency, country, reference, user: { email: 'ada@example.com' }, webhook }
  const priced = (amount: number) => formatMoney({ amount, currency: currency as Currency })

  async function initialize(channel: string): Promise<Record<string, string>> {
    const started = await api('POST', '/payments/v1/payments/initialize', { ...wanted, provider: provider + channel })
    did.push(`started payment ${reference} of ${priced(AMOUNT)} with ${provider}${channel}`)
    return started.data
  }

  let charged = ''
  const scenario: Scenario = {
    api,
    reference,
    did,
    async makeLink() {
      const { id } = await api('POST', '/payments/v1/checkouts', wanted)
      did.push(`created payment link ${reference} of ${priced(AMOUNT)}`)
      return id
    },
    async payByCard(card) {
      const { reference: charge = '' } = await initialize('')
      charged = charge
      const { result } = await api('POST', `/sandbox/${provider}/charges/${charge}`, { card })
      did.push(`charged test card ${card}: ${result}`)
    },
    async openAccount() {
      return (await initialize('-virtual-bank-account')).accountNumber as string
    },
    async transfer(accountNumber, amount) {
      await api('POST', `/sandbox/${provider}/transfers`, { accountNumber, amount })
      did.push(`transferred ${priced(amount)} to account ${accountNumber}`)
    },
    async expire(id) {
      const deps = await openDeps(config, 'find')
      try {
        if (!(await expireNow(deps.database, id)))
          throw new OperatorError(
            `The service at ${baseUrl} uses another database than this command. Check DATABASE_URL and DATA_DIR.`,
          )
      } finally {
        await deps.close()
      }
      did.push('expired it in the database')
    },
    async waitFor(type) {
      const ask = () => api('GET', `/payments/v1/events?payment=${reference}&type=${type}&limit=1`)
      const [event] = await poll(ask, ({ length }) => length > 0, EVENT_TIMEOUT_MS)
      if (!event) {
        throw new OperatorError(
          `${did.join(', ')}. No ${type} was recorded within ${EVENT_TIMEOUT_MS / 1_000} s. See: manilla payment timeline ${reference}`,
        )
      }
      return event
    },
    async openDispute() {
      await scenario.payByCard(GOOD_CARD)
      await scenario.waitFor('payment.successful')
      const { id } = await api('POST', `/sandbox/${provider}/disputes`, { reference: charged, reason: 'fraudulent' })
      did.push(`disputed it: ${id}`)
      return id
    },
    async changeDispute(id, path, body) {
      await api('POST', `/sandbox/${provider}/disputes/${id}${path}`, body)
      did.push(`changed dispute ${id}: ${Object.values(body).join()}`)
    },
  }
  return scenario
}

interface DeliveryAnswer {
  url: string
  state: string
  tries: { status: number | null; error: string | null; tookMs: number }[]
}

async function waitForFirstAttempts(api: Api, id: string): Promise<DeliveryAnswer[]> {
  const ask = async (): Promise<DeliveryAnswer[]> => (await api('GET', `/payments/v1/events/${id}`)).deliveries
  return poll(ask, (deliveries) => deliveries.every(({ tries }) => tries.length > 0), FIRST_ATTEMPT_TIMEOUT_MS)
}
