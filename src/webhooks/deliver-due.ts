import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { batch } from '../database/batch.ts'
import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import type { EndpointId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { recordAct } from '../merchants/audit-store.ts'
import { type Answer, destinationOf, judge, type Verdict } from './delivery.ts'
import {
  claimDue,
  type DueDelivery,
  holdDeliveries,
  noteTries,
  releaseDeliveries,
  type TryResult,
} from './delivery-store.ts'
import { disableEndpoint, endpointSecretPlace, noteHealth } from './endpoint-store.ts'
import { defaultSecretPlace } from './secret-store.ts'
import { type WebhookSecret, webhookHeaders } from './signature.ts'

export interface DeliveryParts {
  database: Database
  clock: Clock
  log: Logger
  secrets: SecretBox
  http: {
    post(call: { url: string; headers: Record<string, string>; body: string; allowPrivate: boolean }): Promise<Answer>
  }
  /** Which modes may call addresses inside our own network. */
  allowPrivate: (mode: Mode) => boolean
}

export interface DeliveryEngine {
  /** There may be something to send. */
  wake(): void
  /** Claims no more, gives back what was not sent, and waits for what is under way, within reason; then gives that back too. */
  stop(): Promise<void>
}

const LEASE_SECONDS = 30
/** A call takes 15 s at most; one that could outlive its lease is not begun. */
const LONGEST_CALL_MS = 16_000
const IN_FLIGHT_PER_DESTINATION = 8
/** In hand beyond those, so that a quick endpoint never waits for the database. */
const CLAIMED_PER_DESTINATION = 64
const CLAIM_AT_ONCE = 1_000
const LOOK_EVERY_MS = 1_000
const FAILING_DAYS = 5
const STOP_WITHIN_MS = 5_000

/** Carries events out: each destination at its own pace, none in another's way. */
export function startDelivering(parts: DeliveryParts): DeliveryEngine {
  const { database, log } = parts
  const me = randomUUID()
  const lanes = new Map<string, Lane>()
  const secretsOf = secretReader(parts.secrets)
  const inFlight = new Set<Promise<void>>()
  const onTheirWay = new Set<DueDelivery>()
  let stopping = false
  let claiming: Promise<void> | undefined
  let wanted = false
  let after = ''

  const note = batch<TryResult, void>({
    write: async (results) => {
      // What waits for an endpoint that was switched off is held in the database, so it is not ours to send any more.
      for (const endpointId of await noteAll(parts, me, results)) {
        lanes.get(destinationOf({ endpointId }))?.waiting.splice(0)
      }
      return results.map(() => undefined)
    },
    maxItems: 500,
    maxWaiting: Number.POSITIVE_INFINITY,
    tooMany: () => new Error('unreachable'),
    failsAll: () => false,
  })

  function wake(): void {
    wanted = true
    claiming ??= claim().finally(() => {
      claiming = undefined
      if (wanted && !stopping) wake()
    })
  }

  async function claim(): Promise<void> {
    wanted = false
    if (stopping) return
    try {
      const claimed = await claimDue(database, {
        me,
        after,
        perDestination: CLAIMED_PER_DESTINATION,
        limit: CLAIM_AT_ONCE,
        leaseSeconds: LEASE_SECONDS,
      })
      const full = claimed.length === CLAIM_AT_ONCE
      // Full: go on after the last one, so that everybody gets a turn. Otherwise we are through, and begin again.
      if (full || after !== '') wanted = true
      after = full ? (claimed.at(-1)?.destination ?? '') : ''
      for (const delivery of claimed) laneOf(delivery.destination).waiting.push(delivery)
      for (const destination of new Set(claimed.map((delivery) => delivery.destination))) pump(destination)
    } catch (err) {
      log.warn({ err }, 'deliveries could not be claimed; they will be')
    }
  }

  function laneOf(destination: string): Lane {
    const known = lanes.get(destination)
    if (known) return known
    const lane: Lane = { waiting: [], flying: 0 }
    lanes.set(destination, lane)
    return lane
  }

  function pump(destination: string): void {
    const lane = laneOf(destination)
    while (!stopping && lane.flying < IN_FLIGHT_PER_DESTINATION) {
      const delivery = lane.waiting.shift()
      if (!delivery) break
      if (performance.now() + LONGEST_CALL_MS > delivery.leasedUntilMs) {
        // Its endpoint turned slow while it waited here: whoever claims it next has the time.
        const late = [delivery, ...lane.waiting.splice(0)]
        track(release(late.map(({ id }) => id)))
        break
      }
      lane.flying++
      track(
        send(delivery).finally(() => {
          lane.flying--
          if (lane.waiting.length < CLAIMED_PER_DESTINATION / 2) wake()
          pump(destination)
        }),
      )
    }
    if (lane.waiting.length === 0 && lane.flying === 0) lanes.delete(destination)
  }

  function track(work: Promise<void>): void {
    inFlight.add(work)
    void work.finally(() => inFlight.delete(work))
  }

  async function send(delivery: DueDelivery): Promise<void> {
    const { eventId: id, body, url, mode } = delivery
    onTheirWay.add(delivery)
    try {
      const headers = webhookHeaders(secretsOf(delivery), { id, body, at: parts.clock.now() })
      const answer = await parts.http.post({ url, headers, body, allowPrivate: parts.allowPrivate(mode) })
      // Given back meanwhile: that the call was cut is no fault of the endpoint's.
      if (onTheirWay.has(delivery)) await note(resultOf(delivery, answer))
    } catch (err) {
      // Not noted: the lease ends, and it is sent again, with the same id and the same bytes.
      log.warn({ err, eventId: id }, 'a delivery could not be noted; it will be made again')
    } finally {
      onTheirWay.delete(delivery)
    }
  }

  async function release(ids: DueDelivery['id'][]): Promise<void> {
    await releaseDeliveries(database, me, ids).catch(() => {}) // the lease ends by itself
  }

  const timer = setInterval(wake, LOOK_EVERY_MS)
  wake()
  return {
    wake,
    async stop() {
      stopping = true
      clearInterval(timer)
      await claiming
      const unsent = [...lanes.values()].flatMap((lane) => lane.waiting.splice(0).map(({ id }) => id))
      await release(unsent)
      let patience: NodeJS.Timeout | undefined
      const enough = new Promise<void>((resolve) => {
        patience = setTimeout(resolve, STOP_WITHIN_MS)
      })
      await Promise.race([Promise.allSettled(inFlight), enough])
      clearTimeout(patience)
      const cut = [...onTheirWay].map(({ id }) => id)
      onTheirWay.clear()
      await release(cut)
    },
  }
}

interface Lane {
  waiting: DueDelivery[]
  flying: number
}

function resultOf(delivery: DueDelivery, answer: Answer): TryResult & { verdict: Verdict } {
  const verdict = judge(answer, delivery.tries - delivery.triesBefore + 1, Math.random())
  return {
    delivery,
    verdict,
    state: verdict.state,
    waitSeconds: verdict.waitSeconds,
    status: answer.kind === 'answer' ? answer.status : null,
    error: answer.kind === 'answer' ? null : `${answer.because}: ${answer.detail}`,
    answer: answer.kind === 'answer' ? answer.excerpt : '',
    tookMs: answer.tookMs,
  }
}

/** Returns the endpoints that were switched off for it. */
async function noteAll({ database, log }: DeliveryParts, me: string, results: TryResult[]): Promise<EndpointId[]> {
  await noteTries(database, me, results)
  const configured = results.filter(({ delivery }) => delivery.endpointId !== null)
  if (configured.length === 0) return []
  const idsOf = (some: TryResult[]) => [...new Set(some.map(({ delivery }) => delivery.endpointId as EndpointId))]
  const healthy = idsOf(configured.filter(({ state }) => state === 'delivered'))
  const failing = idsOf(configured.filter(({ state }) => state !== 'delivered')).filter((id) => !healthy.includes(id))
  const gone = idsOf(configured.filter(({ status }) => status === 410))
  return database.transaction(async (tx) => {
    const switchedOff: EndpointId[] = []
    const sick = await noteHealth(tx, { healthy, failing, maxDays: FAILING_DAYS })
    const reasons = new Map<EndpointId, string>([
      ...sick.map((id) => [id, `It has done nothing but fail for ${FAILING_DAYS} days.`] as const),
      ...gone.map((id) => [id, 'It answered 410 Gone.'] as const),
    ])
    for (const [id, reason] of reasons) {
      const merchantId = await disableEndpoint(tx, id, reason)
      if (!merchantId) continue
      await holdDeliveries(tx, id)
      await recordAct(tx, { actor: 'worker', act: 'webhook_endpoint.disabled', merchantId, subject: id })
      log.warn({ merchantId, endpointId: id }, 'webhook endpoint disabled')
      switchedOff.push(id)
    }
    return switchedOff
  })
}

/** Opens secrets, and remembers the last ones: opening is cheap, but not thousands of times a second. */
function secretReader(box: SecretBox): (delivery: DueDelivery) => WebhookSecret[] {
  const opened = new Map<string, WebhookSecret>()
  const MOST = 10_000
  function open(sealed: Buffer, place: string): WebhookSecret {
    const key = `${place} ${sealed.toString('latin1')}`
    const known = opened.get(key)
    if (known) return known
    const secret = box.open(sealed, place)
    if (opened.size >= MOST) opened.clear()
    opened.set(key, secret)
    return secret
  }
  return (delivery) => {
    const place = delivery.endpointId ? endpointSecretPlace(delivery.endpointId) : defaultSecretPlace(delivery)
    const sealed = [delivery.sealedSecret, delivery.sealedPreviousSecret].filter((each) => each !== null)
    return sealed.map((each) => open(each, place))
  }
}
