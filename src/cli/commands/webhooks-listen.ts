import { setTimeout as sleep } from 'node:timers/promises'
import { openDependencies } from '../../compose.ts'
import { type Config, readConfig } from '../../config.ts'
import type { Database } from '../../database/database.ts'
import { codeOf } from '../../database/failure.ts'
import { listen } from '../../database/listen.ts'
import type { RecordedEvent } from '../../events/event-store.ts'
import { DELIVERIES_CHANNEL } from '../../events/outbox-store.ts'
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
import { openSecrets } from '../with-parts.ts'
import { merchantOption } from './merchant.ts'

const LOOK_EVERY_MS = 500
const ASK_AGAIN_AFTER_MS = 500
/** Between the tries of a forward. Sooner than the service would: somebody is sitting there. */
const WAITS_MS = [1_000, 3_000, 10_000]
const END_WITHIN_MS = 2_000

export const webhooksListen: Command = {
  name: 'webhooks listen',
  summary: 'Show the events of the sandbox merchant as they happen, and pass them on to an address of yours',
  options: {
    forward: { value: 'URL', summary: 'POST each event there, signed: http://localhost:8080/webhooks' },
    merchant: { value: 'mer_…', summary: 'Of another merchant, in sandbox mode' },
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
      await sleep(ASK_AGAIN_AFTER_MS, undefined, { signal: ending }).catch(() => {})
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

/** Ctrl-C is how this command ends, and no failure. */
function endOnSignal(): AbortSignal {
  const ending = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      setTimeout(() => process.exit(0), END_WITHIN_MS).unref() // whatever a database that is going down still owes us
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
    throw new UsageError('--forward must be an address like http://localhost:8080/webhooks.')
  return url.href
}

/** As long as this database answers; then it throws. */
async function follow(
  { config, owner, url, show, signal }: Session,
  follower: ReturnType<typeof followEvents>,
  http: ReturnType<typeof webhookHttp>,
  onReady: () => void,
): Promise<void> {
  const parts = await openDependencies(config, 'find')
  const bell = bellThatRings()
  let listening: ReturnType<typeof listen> | undefined
  try {
    const { database } = parts
    const merchant = await findMerchant(database, owner.merchantId)
    if (!merchant && owner.merchantId !== SANDBOX_MERCHANT_ID)
      throw new OperatorError(`There is no merchant ${owner.merchantId}. See: manilla merchant list`)
    if (!merchant) throw new NotReady('it is being set up')
    const secretNow = url === undefined ? undefined : await secretReader(config, database, owner)
    const secret = await look()
    onReady()
    show.note(`Listening to the sandbox events of ${merchant.name} (${merchant.id}). Ctrl-C stops it.`)
    if (url !== undefined) {
      const named = owner.merchantId === SANDBOX_MERCHANT_ID ? ` ${secret}` : ', the default one of this merchant'
      show.note(`Forwarding to ${url}, signed with the webhook secret${named}`)
    }
    listening = listen(parts.databaseUrl, { [DELIVERIES_CHANNEL]: { heard: bell.ring, missed: bell.ring } })
    while (!signal.aborted) {
      await bell.rings(LOOK_EVERY_MS, signal)
      await look()
    }

    async function look(): Promise<WebhookSecret | undefined> {
      const secret = await secretNow?.() // first, for what the follower hands out it does not hand out again
      pass(await follower.next(database), secret)
      return secret
    }
  } finally {
    await listening?.stop()
    await parts.close()
  }

  function pass(events: RecordedEvent[], secret: WebhookSecret | undefined): void {
    for (const event of events) {
      show.event(event)
      if (url !== undefined && secret !== undefined) void forward({ http, url, show, signal }, event, secret)
    }
  }
}

/** Asked for each time there is something to sign: it may be rotated meanwhile. */
async function secretReader(config: Config, database: Database, owner: Session['owner']) {
  const secrets = await openSecrets(config, database)
  const read = () => findDefaultSecret(database, secrets, owner)
  // That of the sandbox merchant is chosen by the service, which may be a moment behind us.
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
    const waitMs = delivered ? undefined : WAITS_MS[number - 1]
    show.forward({ id, number, status, error, delivered, tookMs: answer.tookMs, waitMs: waitMs ?? null })
    if (waitMs === undefined) return
    await sleep(waitMs, undefined, { signal }).catch(() => {})
  }
}

interface Show {
  event(event: RecordedEvent): void
  forward(result: ForwardResult): void
  /** About ourselves. For programs on the other stream, so that what they read is events alone. */
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
      const then = waitMs === null ? `given up after ${number} tries` : `again in ${waitMs / 1_000} s`
      process.stdout.write(`  ${delivered ? '✓' : '✗'} ${id}  ${what}${delivered ? '' : `, ${then}`}\n`)
    },
    note: (text) => void process.stdout.write(`${text}\n`),
  }
}

class NotReady extends Error {}

const NO_SUCH_TABLE_OR_COLUMN = ['42P01', '42703']

/** Why there is nothing to listen to for now; undefined when waiting would not help. */
function notYet(error: unknown): string | undefined {
  if (error instanceof NotReady) return error.message
  if (NO_SUCH_TABLE_OR_COLUMN.includes(codeOf(error))) return 'its database is being set up'
  if (error instanceof Problem && error.code === 'unavailable')
    return `its database does not answer: ${(error.cause as Error | undefined)?.message || 'refused'}`
  return error instanceof OperatorError && /^No Manilla is running/.test(error.message) ? 'none is running' : undefined
}

/** Rung by the database, or by the clock. */
function bellThatRings() {
  let heard = false
  let wake = () => {}
  return {
    ring() {
      heard = true
      wake()
    },
    async rings(withinMs: number, signal: AbortSignal): Promise<void> {
      if (!heard) {
        const rung = new AbortController()
        wake = () => rung.abort()
        await sleep(withinMs, undefined, { signal: AbortSignal.any([signal, rung.signal]) }).catch(() => {})
      }
      heard = false
    },
  }
}
