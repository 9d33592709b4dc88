import type { Transaction } from '../../database/database.ts'
import { writeEvent } from '../../events/outbox-store.ts'
import { newId, uuidOf } from '../../kernel/ids.ts'
import {
  type ListAnswer,
  type ListedSettlement,
  type ListedSettlementLine,
  type NoticedSettlement,
  NotSetUp,
  unknown,
} from '../../providers/provider.ts'
import type { PaymentDeps } from '../deps.ts'
import { BOOKS } from '../state/case.ts'
import { findingsOf, type Settlement, settlementView, withListed } from '../state/settlement.ts'
import { matchCredits } from '../store/bank-credits.ts'
import { closeOther, openSettlementCase } from '../store/other-cases.ts'
import type { AuditScope } from '../store/provider-audit.ts'
import {
  deleteStaleLines,
  hasOpenLines,
  oddLines,
  releaseLines,
  sumLines,
  writeFees,
  writeLines,
} from '../store/settlement-lines.ts'
import {
  insertSettlement,
  lockByProvider,
  lockSettlement,
  newSettlement,
  nextToRead,
  updateSettlement,
  wantLinesAgain,
} from '../store/settlements.ts'
import { matchLines } from './match-lines.ts'

type Deps = Pick<PaymentDeps, 'database' | 'clock' | 'providers' | 'log'>

/**
 * A page of the provider's list. Each settlement is new, or compared with the one on record, and checked again.
 * The check also finds rows that were changed by SQL. Returns how many are new or have changed. `rereads`: the lines of
 * one that does not agree are read again, because a list may lag, and so may our records.
 */
export async function recordSettlements(
  deps: Deps,
  scope: AuditScope,
  listed: ListedSettlement[],
  rereads = false,
): Promise<number> {
  let changes = 0
  for (const each of listed)
    if (await deps.database.transaction((tx) => record(deps, tx, scope, { listed: each, rereads }))) changes++
  return changes
}

async function record(
  deps: Deps,
  tx: Transaction,
  scope: AuditScope,
  { listed, rereads }: { listed: ListedSettlement; rereads: boolean },
): Promise<boolean> {
  const now = deps.clock.now()
  const find = async () => (await lockByProvider(tx, scope, [listed.id])).get(listed.id)
  const before = await find()
  if (!before) {
    await insertSettlement(tx, newSettlement(scope, listed, now), now)
    const made = await find()
    if (made && made.linesState !== 'wanted') await check(tx, made, now)
    return true
  }
  const after = withListed(before, listed, scope.keysVersion)
  const isChanged = JSON.stringify(after) !== JSON.stringify(before)
  const begins = after.linesState === 'wanted' && before.linesState !== 'wanted'
  if (begins) after.reading++
  if (isChanged) await updateSettlement(tx, after)
  if (after.status === 'failed' && before.status !== 'failed') await releaseLines(tx, after)
  if (after.linesState === 'wanted') return isChanged
  const agrees = await check(tx, after, now)
  if (rereads && after.status === 'paid' && after.linesState === 'read' && (!agrees || (await hasOpenLines(tx, after))))
    await wantLinesAgain(tx, after)
  return isChanged
}

/**
 * Compares a settlement with its lines, and those with our records. What differs is a case with both numbers, which the
 * books close when all agrees again.
 */
async function check(tx: Transaction, of: Settlement, now: Date, found: string[] = []): Promise<boolean> {
  const lines = of.linesState === 'read' ? await sumLines(tx, of) : of.lines
  const odd = of.linesState === 'read' ? await oddLines(tx, of) : []
  const findings = [...findingsOf(of, lines, odd), ...found]
  const subject = { kind: 'settlement' as const, id: of.id, reference: of.providerId }
  const announces = of.status === 'paid' && of.announcedAt === null
  const after: Settlement = { ...of, lines, ...(announces && { announcedAt: now }) }
  if (announces || JSON.stringify(lines) !== JSON.stringify(of.lines)) await updateSettlement(tx, after)
  const difference = findings.join(' ') || null
  const view = settlementView(after, difference)
  const announce = (type: 'settlement.paid' | 'settlement.difference') => {
    const { place, merchantId, mode } = of
    const event = {
      id: newId('event', now, place),
      type,
      data: { payment: null, settlement: view },
      cause: null,
      occurredAt: now,
    }
    writeEvent(tx, { ...event, place, merchantId, mode, paymentId: null, sequence: null }, null)
  }
  if (announces) {
    announce('settlement.paid')
    await matchCredits(tx, of)
  }
  if (difference === null) {
    await closeOther(tx, of, { subject, reason: 'settlement_difference' }, { by: BOOKS, note: null, now })
  } else {
    const wanted = {
      provider: of.provider,
      subject,
      summary: difference,
      amount: of.net,
      currency: of.net === null ? null : of.currency,
    }
    if (await openSettlementCase(tx, of, wanted, now)) announce('settlement.difference')
  }
  return difference === null
}

const MOST_LINES = 1_000_000
/** A page without lines counts as this many, so that a list of empty pages ends, too. */
const EMPTY_PAGE = 10_000
/** A payout without its lines for longer than this is a case. */
const UNREAD_MS = 2 * 86_400_000
const UNREAD = 'The provider does not list its lines.'

/**
 * Reads the next page of lines of the account: of the oldest settlement whose lines are wanted. The cursor is saved
 * with the lines, so that any process can go on. `none`: all lines are read. `unread`: of this one they cannot be read
 * now, so the next call goes on `after` it. `reports`: then it is a case, if it is old.
 */
export async function readNextLines(
  deps: Deps,
  scope: AuditScope,
  { after, reports }: { after: string | null; reports: boolean },
): Promise<'read' | 'none' | { unread: string }> {
  const { database, clock, providers, log } = deps
  const of = await nextToRead(database, scope, after)
  if (!of) return 'none'
  const isEndless = of.linesCursor !== null && of.lines.count > MOST_LINES
  const page = isEndless ? endless(of) : await askLines(deps, scope, of)
  const now = clock.now()
  /** Unless another process has read on meanwhile. */
  const end = (changes: Partial<Settlement>, ...found: string[]) =>
    database.transaction(async (tx) => {
      const current = await lockSettlement(tx, of, of.id)
      if (current?.linesState !== 'wanted' || current.linesCursor !== of.linesCursor) return
      const ended = { ...current, ...changes }
      await updateSettlement(tx, ended)
      await check(tx, ended, now, found)
    })
  if (!page || page.kind === 'unsupported') {
    await end({ linesState: 'none', hasLines: false })
    return 'read'
  }
  if (page.kind === 'unknown') {
    const { merchantId, provider, providerId } = of
    log.warn({ merchantId, provider, settlement: providerId, because: page.because }, 'lines could not be read')
    const isOld = now.getTime() - (of.paidAt ?? of.madeAt).getTime() > UNREAD_MS
    if (reports && isOld) await end({}, UNREAD)
    return { unread: uuidOf(of.id) }
  }
  const keysVersions = await providers.keysVersions(of, of.provider)
  await writePage(deps, of, { lines: page.entries, nextCursor: page.nextCursor, keysVersions })
  return 'read'
}

const endless = ({ providerId }: Settlement) => unknown(`the lines of settlement ${providerId} do not end`)

/** The keys that listed it may be refused or deleted since: the current ones may be of the same account. */
async function askLines({ providers }: Deps, scope: AuditScope, of: Settlement) {
  let answer: ListAnswer<ListedSettlementLine> | undefined = unknown('its keys are deleted')
  for (const keysVersion of new Set([of.keysVersion, scope.keysVersion])) {
    try {
      const client = await providers.connect(of, of.provider, { keysVersion })
      answer = await client.lists?.settlementLines?.(of.providerId, of.linesCursor)
    } catch (error) {
      if (!(error instanceof NotSetUp)) throw error
    }
    if (answer?.kind === 'page') break
  }
  const isStuck = answer?.kind === 'page' && answer.nextCursor !== null && answer.nextCursor === of.linesCursor
  return isStuck ? endless(of) : answer
}

async function writePage(
  { database, clock }: Deps,
  of: Settlement,
  {
    lines,
    nextCursor,
    keysVersions,
  }: { lines: ListedSettlementLine[]; nextCursor: string | null; keysVersions: number[] },
): Promise<void> {
  // The first page of a reading counts from the start.
  const first = of.linesCursor === null ? 0 : of.lines.count
  const { matched, fees } = await matchLines(database, of, lines, { keysVersions, first })
  await database.transaction(async (tx) => {
    const now = await lockSettlement(tx, of, of.id)
    // Another process has read this page meanwhile.
    if (now?.linesState !== 'wanted' || now.linesCursor !== of.linesCursor || now.reading !== of.reading) return
    await writeLines(tx, of, matched)
    await writeFees(tx, of, fees)
    const count = first + (lines.length || EMPTY_PAGE)
    const read: Settlement = { ...now, linesCursor: nextCursor, lines: { ...now.lines, count } }
    if (nextCursor !== null) return updateSettlement(tx, read)
    const done: Settlement = { ...read, linesState: 'read' }
    await deleteStaleLines(tx, done)
    await updateSettlement(tx, done)
    await check(tx, done, clock.now())
  })
}

/**
 * A settlement with all of its lines that a signed notice names. True if money of a line is not on record yet: the same
 * notice says it again later.
 */
export async function recordNoticed(
  deps: Deps,
  scope: AuditScope,
  { settlement, lines }: NoticedSettlement,
): Promise<boolean> {
  await recordSettlements(deps, scope, [{ ...settlement, hasLines: lines.length > 0 }])
  const of = await deps.database.transaction(async (tx) => {
    const find = async () => (await lockByProvider(tx, scope, [settlement.id])).get(settlement.id)
    const known = await find()
    if (known?.status !== 'paid' || known.linesState !== 'read' || !(await hasOpenLines(tx, known))) return known
    await wantLinesAgain(tx, known)
    return find()
  })
  if (of?.linesState !== 'wanted') return false
  const keysVersions = await deps.providers.keysVersions(scope, scope.provider)
  await writePage(deps, { ...of, linesCursor: null }, { lines, nextCursor: null, keysVersions })
  return hasOpenLines(deps.database, of)
}
