import { setTimeout as sleep } from 'node:timers/promises'
import { openParts } from '../../compose.ts'
import { type Config, readConfig } from '../../config.ts'
import { ANNOUNCED, type AnnouncedType, isAnnounced } from '../../events/event.ts'
import { knownKeys } from '../../generated-keys.ts'
import { newReference, type PaymentId } from '../../kernel/ids.ts'
import { type Currency, formatMoney } from '../../kernel/money.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { expireNow } from '../../payments/store/payments.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { type Api, apiOf } from '../api.ts'
import { type Command, UsageError } from '../command.ts'
import { print } from '../print.ts'

const AMOUNT = 1_250_000
const GOOD_CARD = '4084 0840 8408 4081'
const EMPTY_CARD = '4000 0000 0000 9995'
const HAPPENS_WITHIN_MS = 30_000
const FIRST_TRY_WITHIN_MS = 20_000
const ASK_EVERY_MS = 200

export const webhooksTrigger: Command = {
  name: 'webhooks trigger',
  summary: 'Make an event really happen, with a sandbox payment on the running service',
  options: {
    type: { value: 'TYPE', summary: ANNOUNCED.join(', '), required: true },
    webhook: { value: 'URL', summary: 'The `webhook` of that payment: where it is told' },
    url: { value: 'URL', summary: 'Where the service runs (default: PUBLIC_URL, or http://localhost with PORT)' },
  },
  word: 'type',
  async run(options) {
    const type = options.text('type') ?? ''
    if (!isAnnounced(type)) {
      throw new UsageError(
        `${type ? `There is no event "${type}".` : 'Which event?'} Name one of these:\n${ANNOUNCED.map((each) => `  ${each}`).join('\n')}`,
      )
    }
    const config = readConfig(process.env)
    const baseUrl = options.text('url') ?? config.publicUrl ?? `http://localhost:${config.port}`
    const play = await begin(config, baseUrl, options.text('webhook'))
    await HOW[type](play)
    const event = await play.happens(type)
    const deliveries = await firstTries(play.api, event.id)
    const told = deliveries.map(({ url, tries: [first] }) =>
      first ? `told ${url}: ${first.status ?? first.error} in ${first.tookMs} ms` : `telling ${url}: no answer yet`,
    )
    if (told.length === 0) told.push('told nobody: no --webhook was named, and there is no endpoint that wants it')
    print(
      options.json,
      { type, event: event.id, sequence: event.sequence, payment: play.reference, did: play.did, deliveries },
      `${[...play.did, ...told].map((step) => `- ${step}`).join('\n')}\n\n${event.id}  ${type}  ${play.reference}  sequence ${event.sequence}`,
    )
  },
}

/** What it takes for each to happen. A kind of event that is added must find its place here, or it does not compile. */
const HOW: Record<AnnouncedType, (play: Play) => Promise<void>> = {
  'payment.successful': (play) => play.payByCard(GOOD_CARD),
  'attempt.failed': (play) => play.payByCard(EMPTY_CARD),
  async 'payment.cancelled'(play) {
    await play.makeLink()
    await play.api('POST', `/payments/v1/payments/${play.reference}/cancel`)
    play.did.push('cancelled it')
  },
  async 'payment.expired'(play) {
    await play.endTime(await play.makeLink())
  },
  async 'payment.underpaid'(play) {
    await play.transfer(await play.openAccount(), AMOUNT / 2)
  },
  async 'payment.overpaid'(play) {
    await play.transfer(await play.openAccount(), AMOUNT * 2)
  },
  async 'payment.surplus'(play) {
    const account = await play.openAccount()
    await play.transfer(account, AMOUNT)
    await play.happens('payment.successful')
    await play.transfer(account, AMOUNT)
  },
  async 'refund.successful'(play) {
    await play.payByCard(GOOD_CARD)
    await play.happens('payment.successful')
    await play.api('POST', `/payments/v1/payments/${play.reference}/refunds`, { reason: 'webhooks trigger' })
    play.did.push('refunded it')
  },
  'refund.failed': () => {
    throw new OperatorError(
      'refund.failed cannot be made to happen in the sandbox: its provider refuses only a refund of more than it took, and Manilla never asks for that. ' +
        'Its body is that of refund.successful, with `data.refund.status` "failed" and the reason in `data.refund.failure`.',
    )
  },
  'refund.needs_review': () => {
    throw new OperatorError(
      'refund.needs_review cannot be made to happen in the sandbox: it takes a refund that its provider has not finished within 3 days. ' +
        'Its body is that of refund.successful, with `data.refund.status` "pending" and the reason in `data.refund.needsReview`.',
    )
  },
  async 'dispute.opened'(play) {
    await play.openDispute()
  },
  async 'dispute.updated'(play) {
    const dispute = await play.openDispute()
    await play.happens('dispute.opened')
    await play.tellDispute(dispute, '', { reason: 'product_not_received' })
  },
  async 'dispute.won'(play) {
    await play.tellDispute(await play.openDispute(), '/close', { outcome: 'won' })
  },
  async 'dispute.lost'(play) {
    await play.tellDispute(await play.openDispute(), '/close', { outcome: 'lost' })
  },
}

interface Play {
  api: Api
  reference: string
  /** What was done so far, in words. */
  did: string[]
  makeLink(): Promise<PaymentId>
  payByCard(card: string): Promise<void>
  /** Returns the number of the account. */
  openAccount(): Promise<string>
  transfer(accountNumber: string, amount: number): Promise<void>
  endTime(id: PaymentId): Promise<void>
  /** Pays by card and disputes that. Returns the provider's id of the dispute. */
  openDispute(): Promise<string>
  /** Changes a dispute at the provider, or closes it. */
  tellDispute(id: string, path: '' | '/close', body: object): Promise<void>
  /** Resolves with the event, once it is on record. */
  happens(type: AnnouncedType): Promise<{ id: string; sequence: number }>
}

async function begin(config: Config, baseUrl: string, webhook: string | undefined): Promise<Play> {
  const { sandbox } = await knownKeys(config)
  if (!sandbox) {
    throw new OperatorError(
      `There are no sandbox credentials in ${config.dataDir}. Start the service (npm start), or set DATA_DIR, or SANDBOX_CLIENT_ID and SANDBOX_CLIENT_SECRET, to its own.`,
    )
  }
  const api = apiOf(baseUrl, sandbox)
  const { provider, country, currency } = await sandboxProvider(api)
  const reference = `trigger-${newReference(new Date())}`
  const did: string[] = []
  const wanted = { amount: AMOUNT, currency, country, reference, user: { email: 'ada@example.com' }, webhook }
  const priced = (amount: number) => formatMoney({ amount, currency: currency as Currency })

  async function initialize(channel: string): Promise<Record<string, string>> {
    const started = await api('POST', '/payments/v1/payments/initialize', { ...wanted, provider: provider + channel })
    did.push(`started payment ${reference} of ${priced(AMOUNT)} with ${provider}${channel}`)
    return started.data
  }

  let charged = ''
  const play: Play = {
    api,
    reference,
    did,
    async makeLink() {
      const { id } = await api('POST', '/payments/v1/checkouts', wanted)
      did.push(`made payment link ${reference} of ${priced(AMOUNT)}`)
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
    async endTime(id) {
      const parts = await openParts(config, 'find')
      try {
        if (!(await expireNow(parts.database, id)))
          throw new OperatorError(`The service at ${baseUrl} works on another database than this command.`)
      } finally {
        await parts.close()
      }
      did.push('let its time be over, in the database')
    },
    async happens(type) {
      const ask = () => api('GET', `/payments/v1/events?payment=${reference}&type=${type}&limit=1`)
      const [event] = await until(ask, ({ length }) => length > 0, HAPPENS_WITHIN_MS)
      if (!event) {
        throw new OperatorError(
          `${did.join(', ')}; but within ${HAPPENS_WITHIN_MS / 1_000} s no ${type} was recorded. See: manilla payment timeline ${reference}`,
        )
      }
      return event
    },
    async openDispute() {
      await play.payByCard(GOOD_CARD)
      await play.happens('payment.successful')
      const { id } = await api('POST', `/sandbox/${provider}/disputes`, { reference: charged, reason: 'fraudulent' })
      did.push(`disputed it: ${id}`)
      return id
    },
    async tellDispute(id, path, body) {
      await api('POST', `/sandbox/${provider}/disputes/${id}${path}`, body)
      did.push(`changed dispute ${id}: ${Object.values(body).join()}`)
    },
  }
  return play
}

/** The one whose customers we can play: as the merchant has it, for both channels. */
async function sandboxProvider(api: Api): Promise<{ provider: string; country: string; currency: string }> {
  const integrations: { provider: string; channels: string[]; countries: string[]; currencies: string[] }[] = await api(
    'GET',
    '/payments/v1/integrations',
  )
  const played = PROVIDERS.filter(({ capabilities }) => capabilities.sandboxOnly).map(
    ({ capabilities }) => capabilities.name,
  )
  const found = integrations.find(({ provider, channels }) => played.includes(provider) && channels.length > 1)
  const [country] = found?.countries ?? []
  const [currency] = found?.currencies ?? []
  if (!found || !country || !currency)
    throw new OperatorError('The sandbox merchant has no sandbox provider for cards and transfers.')
  return { provider: found.provider, country, currency }
}

interface DeliveryAnswer {
  url: string
  state: string
  tries: { status: number | null; error: string | null; tookMs: number }[]
}

async function firstTries(api: Api, id: string): Promise<DeliveryAnswer[]> {
  const ask = async (): Promise<DeliveryAnswer[]> => (await api('GET', `/payments/v1/events/${id}`)).deliveries
  return until(ask, (deliveries) => deliveries.every(({ tries }) => tries.length > 0), FIRST_TRY_WITHIN_MS)
}

/** What was asked for last, when it is so or the time is over. */
async function until<Value>(
  ask: () => Promise<Value>,
  isSo: (value: Value) => boolean,
  withinMs: number,
): Promise<Value> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const value = await ask()
    if (isSo(value) || performance.now() > deadline) return value
    await sleep(ASK_EVERY_MS)
  }
}
