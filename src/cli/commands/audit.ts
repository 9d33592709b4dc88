import { readConfig } from '../../config.ts'
import type { PaymentId } from '../../kernel/ids.ts'
import { auditProvider, type ProviderAudit, type Range } from '../../payments/audit-provider.ts'
import { audit as examine } from '../../payments/state/audit.ts'
import { recordsAfter } from '../../payments/store/audit-records.ts'
import { listAuditScopes } from '../../payments/store/provider-audit.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print } from '../print.ts'
import { openProviders } from '../provider-accounts.ts'
import { openSecrets, withParts } from '../with-parts.ts'
import { merchantOption } from './merchant.ts'

const PAGE = 500
const DAY_MS = 24 * 3_600_000
const DEFAULT_DAYS = 7

export const audit: Command = {
  name: 'audit',
  summary: 'Derive every payment again from its events, receipts and refunds, and print what disagrees',
  options: {
    provider: {
      summary: 'Compare the books with what the providers themselves list: every transaction, and what went back of it',
    },
    only: { value: 'NAME', summary: 'With --provider: this provider alone; may be repeated', repeats: true },
    merchant: { value: 'mer_…', summary: 'With --provider: this merchant alone' },
    from: { value: 'DATE', summary: `With --provider: from this day or time, UTC (default: ${DEFAULT_DAYS} days ago)` },
    to: { value: 'DATE', summary: 'With --provider: to the end of this day, or to this time, UTC (default: now)' },
    url: { value: 'URL', summary: 'With --provider: where the service runs, for the sandbox provider in it' },
  },
  run: (options) => (options.on('provider') ? withProviders(options) : ownBooks(options)),
}

async function ownBooks(options: Options): Promise<void> {
  const findings: { payment: PaymentId; reference: string; finding: string }[] = []
  let payments = 0
  await withParts(async ({ database }) => {
    let last: PaymentId | undefined
    for (;;) {
      const page = await database.transaction((tx) => recordsAfter(tx, last, PAGE))
      for (const records of page) {
        const { id, reference } = records.state.payment
        for (const finding of examine(records)) findings.push({ payment: id, reference, finding })
        last = id
      }
      payments += page.length
      if (page.length < PAGE) return
    }
  })
  const lines = findings.map(({ payment, reference, finding }) => `${payment} (${reference}): ${finding}`)
  const summary = findings.length === 0 ? 'nothing disagrees.' : `${findings.length} findings.`
  print(
    options.json,
    { payments, findings },
    [...lines, `${payments} ${payments === 1 ? 'payment' : 'payments'} audited: ${summary}`].join('\n'),
  )
  if (findings.length > 0) process.exitCode = 1
}

async function withProviders(options: Options): Promise<void> {
  const only = options.texts('only')
  for (const name of only) {
    if (!PROVIDERS.some(({ capabilities }) => capabilities.name === name))
      throw new UsageError(
        `There is no provider "${name}". There are: ${PROVIDERS.map(({ capabilities }) => capabilities.name).join(', ')}.`,
      )
  }
  const merchantId = options.text('merchant') === undefined ? undefined : merchantOption(options)
  const range = rangeOption(options, new Date())
  const config = readConfig(process.env)
  const audits = await withParts(async ({ database }) => {
    const secrets = await openSecrets(config, database)
    const providers = await openProviders(config, { database, secrets }, PROVIDERS, options.text('url'))
    const scopes = (await listAuditScopes(database)).filter(
      (scope) =>
        (only.length === 0 || only.includes(scope.provider)) &&
        (merchantId === undefined || scope.merchantId === merchantId),
    )
    const done: ProviderAudit[] = []
    for (const scope of scopes) done.push(await auditProvider({ database, providers }, scope, range))
    return done
  })
  const lines = audits.flatMap(linesOf)
  const differences = audits.reduce((sum, each) => sum + each.differences.length, 0)
  const isWhole = audits.every(({ incomplete }) => incomplete === null)
  const days = `${range.from.toISOString()} to ${range.to.toISOString()}`
  const summary = `${audits.length} provider accounts compared, ${days}: ${differences} differences${isWhole ? '' : ', not everything could be compared'}.`
  print(options.json, { ...range, audits }, [...lines, summary].join('\n'))
  if (differences > 0 || !isWhole) process.exitCode = 1
}

function linesOf({ merchantId, mode, provider, agreed, differences, incomplete }: ProviderAudit): string[] {
  const name = `${merchantId} ${mode} ${provider}`
  return [
    ...differences.map(
      ({ transactionId, reference, finding }) =>
        `${name}: transaction ${transactionId}${reference ? ` of order ${reference}` : ''}: ${finding}`,
    ),
    ...(incomplete === null ? [] : [`${name}: not compared to the end: ${incomplete}`]),
    `${name}: ${agreed} transactions agree, ${differences.length} differ`,
  ]
}

function rangeOption(options: Options, now: Date): Range {
  const to = readTime(options, 'to', DAY_MS) ?? now
  const from = readTime(options, 'from', 0) ?? new Date(to.getTime() - DEFAULT_DAYS * DAY_MS)
  if (from >= to) throw new UsageError('--from must be before --to.')
  return { from, to }
}

/** A day alone is its beginning, plus so much. */
function readTime(options: Options, name: string, plusMs: number): Date | undefined {
  const text = options.text(name)
  if (text === undefined) return undefined
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text)
  const time = isDay || /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new UsageError(`--${name} must be a day (2026-11-15) or a time (2026-11-15T08:00:00Z).`)
  return new Date(time + (isDay ? plusMs : 0))
}
