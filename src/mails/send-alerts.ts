import { ALERT_KINDS, type AlertKind } from '../events/alert-kind.ts'
import type { WebhookSecret } from '../events/webhook-secret.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'
import { type Mail, MailRefused, nameInMail } from '../members/mail.ts'
import { findMerchant, findTimeZone } from '../merchants/merchant-store.ts'
import type { WebhookHttp } from '../outbound/webhook-http.ts'
import { webhookHeaders } from '../webhooks/signature.ts'
import { choiceOf, wants } from './address-alerts.ts'
import {
  type Alert,
  deleteCopies,
  endTurn,
  findLastTime,
  findWaitingGroups,
  type LastTime,
  listRecipients,
  OPERATOR,
  readCopies,
  type Turn,
  takeTurn,
} from './alert-queue-store.ts'
import { readLines } from './alert-subject-store.ts'
import { ALERTS, titleOf } from './alert-texts.ts'
import { type MailDeps, WAITS_MINUTES } from './send-receipts.ts'

export interface AlertDeps extends MailDeps {
  http: Pick<WebhookHttp, 'post'>
  /** The operator's own URL. Absent without ALERTS_URL. */
  operator?: { url: string; secret: WebhookSecret } | undefined
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const LEASE_MS = 5 * MINUTE_MS
/** Longer than any lease or wait. */
const LATEST_MS = 13 * HOUR_MS
/** The digest comes after this hour of the merchant's day. */
const DIGEST_HOUR = 8
/** Of one mail. The lines beyond `SHOWN` are counted. */
const MOST_ALERTS = 10_000
const SHOWN = 20

/** A turn, with what it needs to be sent. */
interface Due extends Turn {
  place: Place
  /** Absent: the operator. */
  email?: string
}

/**
 * Sends alerts: one mail for each member, merchant and kind in an hour at most, or one digest a day. More alerts wait
 * for the next one, so that ten thousand cases are two mails. Several processes may run it.
 */
export async function sendDueAlerts(deps: AlertDeps): Promise<void> {
  const groups = await findWaitingGroups(deps.database)
  if (groups.length === 0) return
  const members = await listRecipients(deps.database, [...new Set(groups.map(({ merchantId }) => merchantId))])
  const due = new Map<string, Due>()
  for (const group of groups) {
    const { recipient, place, merchantId, mode, kind } = group
    const member = members.find((each) => uuidOf(each.memberId) === recipient && wants(each, group))
    // The member was removed, has another role, or does not want it any more; or ALERTS_URL was removed.
    if (recipient === OPERATOR ? !deps.operator : !member) {
      await drop(deps, { recipient, place, merchantId, mode, subject: kind })
      continue
    }
    const subject: Turn['subject'] = member && choiceOf(member).daily ? 'digest' : kind
    const turn = { recipient, place, merchantId, mode, subject, ...(member && { email: member.email }) }
    due.set([recipient, merchantId, mode, subject].join(), turn)
  }
  for (const turn of due.values())
    await send(deps, turn).catch((err) =>
      deps.log.warn({ err, merchantId: turn.merchantId }, 'alerts could not be sent; retrying'),
    )
}

async function drop({ database }: AlertDeps, turn: Due): Promise<void> {
  const alerts = await readCopies(database, turn.place, turn, MOST_ALERTS)
  await deleteCopies(
    database,
    turn.place,
    turn.recipient,
    alerts.map(({ id }) => id),
  )
}

async function send(deps: AlertDeps, turn: Due): Promise<void> {
  const { database, clock } = deps
  const now = clock.now()
  const last = await findLastTime(database, turn)
  if (!(await isDue(deps, turn, last, now))) return
  const [until, latest] = [new Date(now.getTime() + LEASE_MS), new Date(now.getTime() + LATEST_MS)]
  if (!(await takeTurn(database, turn, last, { now, until, latest }))) return
  const alerts = await readCopies(database, turn.place, turn, MOST_ALERTS)
  const parts = await readParts(deps, turn, alerts)
  const sent = parts.length === 0 ? 'nothing' : await deliver(deps, turn, parts).catch((error: Error) => error)
  const after = afterTry(last, sent, clock.now())
  await database.transaction(async (tx) => {
    if (after.isOver)
      await deleteCopies(
        tx,
        turn.place,
        turn.recipient,
        alerts.map(({ id }) => id),
      )
    await endTurn(tx, turn, after)
  })
  if (sent instanceof Error) throw sent
}

type Sent = 'sent' | 'nothing' | Error

function afterTry(
  { sentAt, tries }: LastTime,
  sent: Sent,
  now: Date,
): LastTime & { leasedUntil: Date; isOver: boolean } {
  if (sent === 'sent') return { sentAt: now, tries: 0, leasedUntil: now, isOver: true }
  if (sent === 'nothing') return { sentAt, tries, leasedUntil: now, isOver: true }
  const wait = sent instanceof MailRefused ? undefined : WAITS_MINUTES[tries]
  if (wait === undefined) return { sentAt, tries: 0, leasedUntil: now, isOver: true }
  return { sentAt, tries: tries + 1, leasedUntil: new Date(now.getTime() + wait * MINUTE_MS), isOver: false }
}

/** A time in the future is of a clock that went back. */
async function isDue({ database }: AlertDeps, turn: Turn, { sentAt }: LastTime, now: Date): Promise<boolean> {
  if (sentAt === null || sentAt > now) return true
  if (turn.subject !== 'digest') return now.getTime() - sentAt.getTime() >= HOUR_MS
  const zone = (await findTimeZone(database, turn.merchantId)) ?? 'UTC'
  const dayOf = (time: Date) =>
    new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(time.getTime() - DIGEST_HOUR * HOUR_MS)
  return dayOf(sentAt) !== dayOf(now)
}

/** The alerts of a kind that still need a person. */
interface Part {
  kind: AlertKind
  alerts: { subject: string; line: string }[]
  lastId: number
}

async function readParts({ database }: AlertDeps, turn: Due, alerts: Alert[]): Promise<Part[]> {
  const parts: Part[] = []
  for (const kind of ALERT_KINDS) {
    const ofKind = alerts.filter((alert) => alert.kind === kind)
    if (ofKind.length === 0) continue
    const lines = await readLines(database, turn, kind, ofKind)
    const standing = ofKind.flatMap(({ id, subject }) => {
      const line = lines.get(id)
      return line === undefined ? [] : [{ subject, line }]
    })
    if (standing.length > 0) parts.push({ kind, alerts: standing, lastId: ofKind.at(-1)?.id ?? 0 })
  }
  return parts
}

async function deliver(deps: AlertDeps, turn: Due, parts: Part[]): Promise<'sent'> {
  const name = (await findMerchant(deps.database, turn.merchantId))?.name ?? ''
  const id = `alert_${turn.place}_${Math.max(...parts.map(({ lastId }) => lastId))}_${turn.recipient}`
  if (turn.email === undefined) await post(deps, turn, { id, name, parts })
  else {
    if (!deps.sendMail) throw new Error('SMTP_URL is not set')
    await deps.sendMail({ ...alertMail(deps, turn, name, parts), to: turn.email, id })
  }
  return 'sent'
}

/** One signed POST for each part, as webhooks are signed. The operator chose the URL, so it may be a private one. */
async function post(
  { http, clock, links, operator }: AlertDeps,
  turn: Due,
  { id, name, parts: [part] }: { id: string; name: string; parts: Part[] },
): Promise<void> {
  if (!operator || !part) return
  const at = clock.now()
  const { kind, alerts } = part
  const data = {
    merchant: { id: turn.merchantId, name },
    ...{ kind, title: titleOf(kind, alerts.length), count: alerts.length, alerts: alerts.slice(0, SHOWN) },
    url: links.dashboard(turn, ALERTS[kind].screen),
  }
  const body = JSON.stringify({ id, type: 'alert', timestamp: at.toISOString(), mode: turn.mode, data })
  const headers = webhookHeaders([operator.secret], { id, body, at })
  const answer = await http.post({ url: operator.url, headers, body, allowPrivate: true })
  if (answer.kind === 'failed') throw new Error(`ALERTS_URL: ${answer.because}`)
  if (answer.status < 200 || answer.status >= 300) throw new Error(`ALERTS_URL answered ${answer.status}`)
}

function alertMail({ links }: AlertDeps, turn: Due, merchantName: string, parts: Part[]): Omit<Mail, 'to' | 'id'> {
  const name = nameInMail(merchantName)
  const titles = parts.map(({ kind, alerts }) => titleOf(kind, alerts.length))
  const subject = titles.length === 1 ? titles[0] : `${titles.length} kinds of alerts`
  const sections = parts.map(({ kind, alerts }, index) => {
    const more = alerts.length > SHOWN ? [`… and ${alerts.length - SHOWN} more`] : []
    const lines = alerts.slice(0, SHOWN).map(({ line }) => `- ${line}`)
    return [`${titles[index]}:`, ...lines, ...more, links.dashboard(turn, ALERTS[kind].screen)].join('\n')
  })
  const isTest = turn.mode === 'sandbox'
  const why = `You get this mail as a member of ${name}. Choose your alerts:\n${links.dashboard(turn, '/alerts')}`
  return {
    subject: `${isTest ? '[Test] ' : ''}${name}: ${subject}`,
    text: [...(isTest ? ['Sandbox: no real money is concerned.'] : []), ...sections, why].join('\n\n').concat('\n'),
  }
}
