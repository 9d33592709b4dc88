import { readConfig } from '../../config/config.ts'
import { recordAct } from '../../events/audit-log-store.ts'
import type { PaymentId } from '../../kernel/ids.ts'
import { beginsWithDay } from '../../kernel/time-zone.ts'
import { auditSettlements } from '../../payments/settlements/audit-settlements.ts'
import { audit as examine } from '../../payments/state/audit.ts'
import type { Payment } from '../../payments/state/payment.ts'
import { readMissingGuards, readPutOff, recordsAfter } from '../../payments/store/audit-records.ts'
import { listAuditScopes } from '../../payments/store/provider-audit.ts'
import { auditRollups } from '../../payments/upkeep/audit-rollups.ts'
import { rebuildRollups } from '../../payments/upkeep/fold-rollups.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { auditProvider, type ProviderAudit } from '../../reconciliation/audit-provider.ts'
import { askByHand } from '../../reconciliation/run-store.ts'
import type { Range } from '../../reconciliation/windows.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print } from '../print.ts'
import { openProviders } from '../provider-clients.ts'
import { actor, openSecrets, withDatabase } from '../with-database.ts'
import { merchantOption } from './merchant.ts'

const PAGE = 500
const DAY_MS = 24 * 3_600_000
const DEFAULT_DAYS = 7

export const audit: Command = {
  name: 'audit',
  summary: 'Recompute every payment, settlement and sum of the charts from their records, and print the differences',
  options: {
    'rebuild-rollups': { summary: 'First make the sums of the charts again' },
    provider: {
      summary: 'Compare our records with the providers’ lists of transactions, refunds and disputes (reconciliation)',
    },
    repair: {
      summary:
        'With --provider: let the running service read the same range and book what differs, as its reconciliation does',
    },
    only: { value: 'NAME', summary: 'With --provider: only this provider; may be repeated', repeats: true },
    merchant: { value: 'mer_…', summary: 'With --provider: only this merchant' },
    from: { value: 'DATE', summary: `With --provider: from this day or time, UTC (default: ${DEFAULT_DAYS} days ago)` },
    to: { value: 'DATE', summary: 'With --provider: to the end of this day, or to this time, UTC (default: now)' },
    url: {
      value: 'URL',
      summary:
        'With --provider: URL of the service, for its sandbox provider (default: the running service of DATA_DIR)',
    },
  },
  run: (options) => (options.on('provider') ? auditProviders(options) : auditRecords(options)),
}

/** Of more findings only the number is told, so that memory stays bounded. */
const MAX_FINDINGS = 10_000
const MAX_PUT_OFF = 100

async function auditRecords(options: Options): Promise<void> {
  const findings: { payment: PaymentId; reference: string; finding: string }[] = []
  let [payments, found] = [0, 0]
  const { rollups, differences, settled, putOff, guards } = await withDatabase(async ({ database, clock }) => {
    if (options.on('rebuild-rollups')) await rebuildRollups({ database, clock })
    let last: Payment | undefined
    for (;;) {
      const page = await database.transaction((tx) => recordsAfter(tx, last, PAGE))
      for (const records of page) {
        last = records.state.payment
        const { id, reference } = last
        const own = examine(records, clock.now())
        found += own.length
        if (findings.length < MAX_FINDINGS)
          findings.push(...own.map((finding) => ({ payment: id, reference, finding })))
      }
      payments += page.length
      if (page.length === PAGE) continue
      const putOff = await readPutOff(database, MAX_PUT_OFF)
      const settled = await auditSettlements(database)
      return { ...(await auditRollups(database)), settled, putOff, guards: await readMissingGuards(database) }
    }
  })
  const lines = [
    ...findings.map(({ payment, reference, finding }) => `${payment} (${reference}): ${finding}`),
    ...(found > findings.length ? [`${found - findings.length} more findings about payments are not shown`] : []),
    ...settled.findings.map(
      ({ settlement, finding }) => `${settlement}: ${finding} Read its list again, or restore the rows from a backup.`,
    ),
    ...putOff.map(({ what, until }) => `${what} waits until ${until}: set its time to now()`),
    ...guards.map(
      (name) =>
        `${name} is missing or switched off, so history can be changed or money counted twice: restore it from migrations/`,
    ),
    ...differences.map(
      ({ rollup, finding }) => `rollup ${rollup}: ${finding}: run \`manilla audit --rebuild-rollups\``,
    ),
  ]
  const count = found + settled.findings.length + putOff.length + guards.length + differences.length
  const summary = count === 0 ? 'no differences.' : `${count} findings.`
  print(
    options.json,
    { payments, found, findings, settlements: settled, putOff, guards, rollups, rollupDifferences: differences },
    [
      ...lines,
      `${payments} ${payments === 1 ? 'payment' : 'payments'}, ${settled.settlements} settlements and ${rollups} rollups audited: ${summary}`,
    ].join('\n'),
  )
  if (count > 0) process.exitCode = 1
}

async function auditProviders(options: Options): Promise<void> {
  const only = options.texts('only')
  for (const name of only) {
    if (!PROVIDERS.some(({ capabilities }) => capabilities.name === name))
      throw new UsageError(
        `There is no provider "${name}". Providers: ${PROVIDERS.map(({ capabilities }) => capabilities.name).join(', ')}.`,
      )
  }
  const merchantId = options.text('merchant') === undefined ? undefined : merchantOption(options)
  const range = rangeOption(options, new Date())
  const config = readConfig(process.env)
  const audits = await withDatabase(async ({ database, clock }) => {
    const secrets = await openSecrets(config, database)
    const providers = await openProviders(config, { database, secrets }, PROVIDERS, options.text('url'))
    const scopes = (await listAuditScopes(database)).filter(
      (scope) =>
        (only.length === 0 || only.includes(scope.provider)) &&
        (merchantId === undefined || scope.merchantId === merchantId),
    )
    const done: Audited[] = []
    for (const scope of scopes) {
      const found = await auditProvider({ database, clock, providers }, scope, range)
      const isAsked = options.on('repair') && found.differences.length > 0
      if (isAsked)
        await database.transaction(async (tx) => {
          await askByHand(tx, scope, range)
          const { merchantId, provider } = scope
          await recordAct(tx, { actor: actor(), act: 'audit.repaired', merchantId, subject: provider })
        })
      done.push({ ...found, repair: isAsked })
    }
    return done
  })
  const lines = audits.flatMap(linesOf)
  const differences = audits.reduce((sum, each) => sum + each.differences.length, 0)
  const isWhole = audits.every(({ incomplete }) => incomplete === null)
  const days = `${range.from.toISOString()} to ${range.to.toISOString()}`
  const summary = `${audits.length} provider accounts compared, ${days}: ${differences} differences${isWhole ? '' : ', incomplete'}.`
  print(options.json, { ...range, audits }, [...lines, summary].join('\n'))
  if (differences > 0 || !isWhole) process.exitCode = 1
}

/** `repair`: the running service was asked to book the differences. */
type Audited = ProviderAudit & { repair: boolean }

const ENTRY = { transactions: 'transaction', refunds: 'refund', disputes: 'dispute', absent: 'transaction' }

function linesOf({
  merchantId,
  mode,
  provider,
  agreed,
  foreign,
  differences,
  unsupported,
  ...rest
}: Audited): string[] {
  const name = `${merchantId} ${mode} ${provider}`
  return [
    ...differences.map(
      ({ kind, id, reference, finding }) =>
        `${name}: ${ENTRY[kind]} ${id}${reference ? ` of order ${reference}` : ''}: ${finding}`,
    ),
    ...unsupported.map((because) => `${name}: not compared: ${because}`),
    ...(rest.incomplete === null ? [] : [`${name}: incomplete: ${rest.incomplete}`]),
    `${name}: ${agreed} entries agree, ${differences.length} differ, ${foreign} are of others`,
    ...(rest.repair ? [`${name}: the running service reads this range again and books what differs`] : []),
  ]
}

function rangeOption(options: Options, now: Date): Range {
  const to = readTime(options, 'to', DAY_MS) ?? now
  const from = readTime(options, 'from', 0) ?? new Date(to.getTime() - DEFAULT_DAYS * DAY_MS)
  if (from >= to) throw new UsageError('--from must be before --to.')
  return { from, to }
}

/** A day without a time means its start, plus `plusMs`. */
function readTime(options: Options, name: string, plusMs: number): Date | undefined {
  const text = options.text(name)
  if (text === undefined) return undefined
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text)
  const isTime = isDay || /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)
  const time = isTime && beginsWithDay(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time))
    throw new UsageError(
      `--${name} must be a day (2026-11-15) or a time (2026-11-15T08:00:00Z), between 2000 and 2100.`,
    )
  return new Date(time + (isDay ? plusMs : 0))
}
