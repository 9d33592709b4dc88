import { setTimeout as sleep } from 'node:timers/promises'
import { openDeps } from '../../compose.ts'
import { type Config, readConfig } from '../../config/config.ts'
import type { Database } from '../../database/database.ts'
import { codeOf } from '../../database/failure.ts'
import { listen } from '../../database/listen.ts'
import { PAYMENTS_CHANNEL, type RecordedEvent } from '../../events/event-store.ts'
import type { WebhookSecret } from '../../events/webhook-secret.ts'
import { ensureDefaultSecret, findDefaultSecret } from '../../events/webhook-secret-store.ts'
import { SANDBOX_MERCHANT_ID } from '../../integrations/create-merchant.ts'
import type { MerchantId } from '../../kernel/ids.ts'
import { type Currency, formatMoney } from '../../kernel/money.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { Problem } from '../../kernel/problem.ts'
import { findMerchant } from '../../merchants/merchant-store.ts'
import { webhookHttp } from '../../outbound/webhook-http.ts'
import { webhookHeaders } from '../../webhooks/signature.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { followEvents } from '../follow-events.ts'
import { openSecrets } from '../with-database.ts'
import { merchantOption } from './merchant.ts'

const POLL_EVERY_MS = 500
const RECONNECT_AFTER_MS = 500
/** Pauses between the attempts of a forward. Shorter than the service's, for interactive use. */
const RETRY_AFTER_MS = [1_000, 3_000, 10_000]
const EXIT_TIMEOUT_MS = 2_000

export const webhooksListen: Command = {
  name: 'webhooks listen',
  summary: 'Show the events of the sandbox merchant as they happen, and forward them to a URL',
  options: {
    forward: { value: 'URL', summary: 'POST each signed event to this URL: http://localhost:8080/webhooks' },
    merchant: { value: 'mer_…', summary: 'Another merchant, in sandbox mode' },
  },
  async run(options) {
    const config = readConfig(process.env)
    const merchantId = options.text('merchant') === undefined ? SANDBOX_MERCHANT_ID : merchantOption(options)
    const ending = endOnSignal()
    const session = {
      config,
      owner: { merchantId, mode: 'sandbox' as const },
      url: forwardOption(options),
      show: shower(options.json),
      signal: ending,
    }
    const follower = followEvents(session.owner)
    const http = webhookHttp()
    let waitsFor: string | undefined
    while (!ending.aborted) {
      try {
        await follow(session, follower, http, () => {
          waitsFor = undefined
        })
      } catch (error) {
        const why = notYet(error)
        if (why === undefined) throw error
        if (why !== waitsFor) session.show.note(`waiting for the service (${why})`)
        waitsFor = why
      }
      await sleep(RECONNECT_AFTER_MS, undefined, { signal: ending }).catch(() => {})
    }
    http.close()
    session.show.note('Stopped.')
  },
}

interface Session {
  config: Config
  owner: { merchantId: MerchantId; mode: 'sandbox' }
  url: string | undefined
  show: Show
  signal: AbortSignal
}

/** Ctrl-C is the normal end of this command: exit code 0. */
function endOnSignal(): AbortSignal {
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      setTimeout(() => process.exit(0), EXIT_TIMEOUT_MS).unref() // a database that is shutting down may not answer
      ending.abort()
    })
  }
  return ending.signal
}

function forwardOption(options: Options): string | undefined {
  const given = options.text('forward')
  if (given === undefined) return undefined
  const url = URL.parse(given)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError('--forward must be a URL like http://localhost:8080/webhooks.')
  return url.href
}

/** Runs until the database connection fails, then throws. */
async function follow(
  { config, owner, url, show, signal }: Session,
  follower: ReturnType<typeof followEvents>,
  http: ReturnType<typeof webhookHttp>,
  onReady: () => void,
): Promise<void> {
  const deps = await openDeps(config, 'find')
  const wakeUp = createWakeUp()
  let listening: ReturnType<typeof listen> | undefined
  try {
    const { database } = deps
    const merchant = await findMerchant(database, owner.merchantId)
    if (!merchant && owner.merchantId !== SANDBOX_MERCHANT_ID)
      throw new OperatorError(`There is no merchant ${owner.merchantId}. See: manilla merchant list`)
    if (!merchant) throw new NotReady('it is being set up')
    const { place } = merchant
    const secretNow = url === undefined ? undefined : await secretReader(config, database, owner)
    const secret = await look()
    onReady()
    show.note(`Listening to the sandbox events of ${merchant.name} (${merchant.id}). Ctrl-C stops it.`)
    if (url !== undefined) {
      const named = owner.merchantId === SANDBOX_MERCHANT_ID ? ` ${secret}` : ', the default one of this merchant'
      show.note(`Forwarding to ${url}, signed with the webhook secret${named}`)
    }
    listening = listen(deps.directUrl, { [PAYMENTS_CHANNEL]: { heard: wakeUp.notify, missed: wakeUp.notify } })
    while (!signal.aborted) {
      await wakeUp.wait(POLL_EVERY_MS, signal)
      await look()
    }

    async function look(): Promise<WebhookSecret | undefined> {
      const secret = await secretNow?.() // read first: the follower returns each event only once
      pass(await follower.next(database, place), secret)
      return secret
    }
  } finally {
    await listening?.stop()
    await deps.close()
  }

  function pass(events: RecordedEvent[], secret: WebhookSecret | undefined): void {
    for (const event of events) {
      show.event(event)
      if (url !== undefined && secret !== undefined) void forward({ http, url, show, signal }, event, secret)
    }
  }
}

/** Read before each batch, because the secret may be rotated. */
async function secretReader(config: Config, database: Database, owner: Session['owner']) {
  const secrets = await openSecrets(config, database)
  const read = () => findDefaultSecret(database, secrets, owner)
  // The service sets the sandbox merchant's secret when it starts.
  if (owner.merchantId !== SANDBOX_MERCHANT_ID) await ensureDefaultSecret(database, secrets, owner)
  else if (!(await read())) throw new NotReady('it is being set up')
  return read
}

async function forward(
  { http, url, show, signal }: Pick<Session, 'show' | 'signal'> & { http: ReturnType<typeof webhookHttp>; url: string },
  { id, body }: RecordedEvent,
  secret: WebhookSecret,
): Promise<void> {
  for (let number = 1; !signal.aborted; number++) {
    const headers = webhookHeaders([secret], { id, body, at: new Date() })
    const answer = await http.post({ url, headers, body, allowPrivate: true })
    if (signal.aborted) return
    const status = answer.kind === 'answer' ? answer.status : null
    const error = answer.kind === 'answer' ? null : `${answer.because}: ${answer.detail}`
    const delivered = status !== null && status >= 200 && status < 300
    const waitMs = delivered ? undefined : RETRY_AFTER_MS[number - 1]
    show.forward({ id, number, status, error, delivered, tookMs: answer.tookMs, waitMs: waitMs ?? null })
    if (waitMs === undefined) return
    await sleep(waitMs, undefined, { signal }).catch(() => {})
  }
}

interface Show {
  event(event: RecordedEvent): void
  forward(result: ForwardResult): void
  /** Status messages. With --json they go to stderr, so that stdout has only events. */
  note(text: string): void
}

interface ForwardResult {
  id: string
  number: number
  status: number | null
  error: string | null
  delivered: boolean
  tookMs: number
  waitMs: number | null
}

function shower(json: boolean): Show {
  const line = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`)
  if (json) {
    return {
      event: ({ body }) => line({ event: JSON.parse(body) }),
      forward: ({ id, number, status, error, delivered, tookMs }) =>
        line({ forward: { event: id, try: number, delivered, status, error, tookMs } }),
      note: (text) => void process.stderr.write(`${text}\n`),
    }
  }
  return {
    event({ id, type, body }) {
      const { timestamp, sequence, data } = JSON.parse(body)
      const { reference, amount, currency } = data.payment
      const money = formatMoney({ amount, currency: currency as Currency })
      process.stdout.write(`${timestamp}  ${type.padEnd(18)}  ${reference}  ${money}  sequence ${sequence}  ${id}\n`)
    },
    forward({ id, number, status, error, delivered, tookMs, waitMs }) {
      const what = `${status ?? error} in ${tookMs} ms`
      const then = waitMs === null ? `gave up after ${number} attempts` : `retry in ${waitMs / 1_000} s`
      process.stdout.write(`  ${delivered ? '✓' : '✗'} ${id}  ${what}${delivered ? '' : `, ${then}`}\n`)
    },
    note: (text) => void process.stdout.write(`${text}\n`),
  }
}

class NotReady extends Error {}

const NO_SUCH_TABLE_OR_COLUMN = ['42P01', '42703']

/** Why the service is not ready yet; undefined for an error that waiting does not solve. */
function notYet(error: unknown): string | undefined {
  if (error instanceof NotReady) return error.message
  if (NO_SUCH_TABLE_OR_COLUMN.includes(codeOf(error))) return 'its database is being set up'
  if (error instanceof Problem && error.code === 'unavailable')
    return `its database does not answer: ${(error.cause as Error | undefined)?.message || 'refused'}`
  return error instanceof OperatorError && /^No Manilla is running/.test(error.message) ? 'none is running' : undefined
}

/** Wakes the loop on a notification or after a timeout. */
function createWakeUp() {
  let heard = false
  let wake = () => {}
  return {
    notify() {
      heard = true
      wake()
    },
    async wait(withinMs: number, signal: AbortSignal): Promise<void> {
      if (!heard) {
        const rung = new AbortController()
        wake = () => rung.abort()
        await sleep(withinMs, undefined, { signal: AbortSignal.any([signal, rung.signal]) }).catch(() => {})
      }
      heard = false
    },
  }
}
