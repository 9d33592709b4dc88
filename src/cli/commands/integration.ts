import { type CommandDeps, privateAllowedBy } from '../../compose.ts'
import { type Config, readConfig } from '../../config/config.ts'
import { readOffers } from '../../integrations/account-offers.ts'
import { SANDBOX_MERCHANT_ID } from '../../integrations/create-merchant.ts'
import { DEFAULT_PRIORITY, type IntegrationRecord, MAX_PRIORITY } from '../../integrations/integration.ts'
import { findIntegration, listIntegrations } from '../../integrations/integration-store.ts'
import { integrationView } from '../../integrations/integration-view.ts'
import {
  checkIntegration,
  removeIntegration,
  setIntegration,
  setsKeys,
  warnOfKeys,
} from '../../integrations/manage-integrations.ts'
import { CHANNELS } from '../../kernel/channel.ts'
import { MODES, type Mode } from '../../kernel/mode.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Owner } from '../../kernel/scope.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { linksOn } from '../../payments/links.ts'
import { checkAfterNewKeys } from '../../payments/settle/check-attempts.ts'
import type { Provider } from '../../providers/provider.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print, table } from '../print.ts'
import { openProviders } from '../provider-clients.ts'
import { findServiceUrls, type ServiceUrls } from '../running-service.ts'
import { actor, openSecrets, withDatabase } from '../with-database.ts'
import { readChanges } from './integration-options.ts'
import { merchantOption } from './merchant.ts'

const SCOPE: Command['options'] = {
  merchant: { value: 'mer_…', summary: 'The merchant (default: the sandbox merchant)' },
  mode: { value: 'sandbox|live', summary: 'The mode (default: sandbox)' },
}

/** The commands read names, settings and capabilities from the providers. */
export function integrationCommands(providers: readonly Provider[]): Command[] {
  const names = providers.map(({ capabilities }) => capabilities.name)
  const ONE: Command['options'] = {
    provider: { value: names.join('|'), summary: 'The provider', required: true },
    ...SCOPE,
  }

  const find = (name: string) => providers.find(({ capabilities }) => capabilities.name === name)

  function providerOption(options: Options): Provider {
    const name = options.required('provider')
    const found = find(name)
    if (!found) throw new UsageError(`There is no provider "${name}". Providers: ${names.join(', ')}.`)
    return found
  }

  const set: Command = {
    name: 'integration set',
    summary: 'Set up or change a provider of a merchant; options that are absent keep their values',
    word: 'provider',
    options: {
      ...ONE,
      setting: {
        value: 'NAME=VALUE',
        summary:
          'A setting, such as a key; repeat it for each. NAME=@FILE reads it from a file and NAME=- from standard input, which keeps a secret out of the shell’s history. NAME= removes an optional one',
        repeats: true,
      },
      'base-url': { value: 'URL|none', summary: 'URL of the provider’s API; none: the default' },
      channels: { value: 'card,…|all', summary: `Channels to use it for, of ${CHANNELS.join(', ')}` },
      countries: { value: 'NG,…|all', summary: 'Countries to use it in' },
      currencies: { value: 'NGN,…|all', summary: 'Currencies to use it for' },
      priority: {
        value: `0..${MAX_PRIORITY}`,
        summary: `Lower numbers are used first (default: ${DEFAULT_PRIORITY})`,
      },
    },
    async run(options) {
      const provider = providerOption(options)
      const scope = scopeOption(options)
      const changes = await readChanges(options)
      const { config, urls, record, warning } = await withSecrets(async ({ config, urls, ...deps }) => {
        const allowPrivate = privateAllowedBy(config)
        const saved = await setIntegration(
          { ...deps, allowPrivate },
          { actor: actor(), owner: scope, provider, changes },
        ).catch(toUsageError)
        if (setsKeys(provider, changes)) await checkAfterNewKeys(deps.database, scope, provider.capabilities.name)
        const clients = setsKeys(provider, changes) ? await openProviders(config, deps, providers) : undefined
        const { name } = provider.capabilities
        const warning = clients
          ? await warnOfKeys({ providers: clients, links: linksOn(() => urls.baseUrl) }, scope, name)
          : null
        if (clients && !warning) {
          await readOffers({ database: deps.database, providers: clients }, { owner: scope, provider: name })
        }
        const record = (await findIntegration(deps.database, deps.secrets, scope, name)) ?? saved
        return { config, urls, record, warning }
      })
      const view = viewOf(urls, scope, provider, record)
      const next = warning
        ? `Warning: ${warning.message}\n${whatNext(config, scope, provider)}`
        : whatNext(config, scope, provider)
      print(options.json, { ...view, warning }, `${describe(view)}\n\n${next}`)
    },
  }

  const check: Command = {
    name: 'integration check',
    summary: 'Check a merchant’s keys with the provider',
    word: 'provider',
    options: ONE,
    async run(options) {
      const { name } = providerOption(options).capabilities
      const scope = scopeOption(options)
      const verdict = await withSecrets(async ({ config, database, secrets }) => {
        const clients = await openProviders(config, { database, secrets }, providers)
        return checkIntegration({ database, secrets, providers: clients }, scope, name)
      })
      const reason = verdict.kind === 'good' ? null : verdict.because
      const says = {
        good: `${name} accepts the ${scope.mode} keys.`,
        bad: `${name} refuses the ${scope.mode} keys: ${reason}.`,
        unknown: `${name} did not confirm the ${scope.mode} keys: ${reason}. Try again.`,
      }
      print(options.json, { keys: verdict.kind, reason }, says[verdict.kind])
      if (verdict.kind !== 'good') process.exitCode = 1
    },
  }

  const list: Command = {
    name: 'integration list',
    summary: 'List a merchant’s integrations in the order of use (without secrets)',
    options: SCOPE,
    async run(options) {
      const scope = scopeOption(options)
      const { urls, records } = await withSecrets(async ({ urls, database, secrets }) => ({
        urls,
        records: await listIntegrations(database, secrets, scope),
      }))
      const views = records.flatMap((record) => {
        const provider = find(record.provider)
        return provider ? [viewOf(urls, scope, provider, record)] : []
      })
      const rows = views.map((view) => ({
        provider: view.provider,
        state: view.enabled ? 'in use' : 'removed',
        priority: String(view.priority),
        channels: view.channels.join(' '),
        currencies: view.currencies.join(' '),
        countries: view.countries.join(' '),
        settings: [...Object.keys(view.settings), ...view.secretsSet].join(' ') || '-',
      }))
      const others = providers
        .filter(({ capabilities }) => scope.mode === 'sandbox' || !capabilities.sandboxOnly)
        .filter(({ capabilities }) => !views.some(({ provider }) => provider === capabilities.name))
        .map(({ capabilities, settings }) =>
          [capabilities.name, settings.length > 0 ? `(${settings.map(({ name }) => name).join(', ')})` : '']
            .join(' ')
            .trim(),
        )
      const more = others.length > 0 ? `\n\nNot set up: ${others.join('; ')}.` : ''
      print(options.json, views, (rows.length > 0 ? table(rows) : 'No integrations.') + more)
    },
  }

  const remove: Command = {
    name: 'integration remove',
    summary: 'Stop using a provider for new payments; started payments can still be finished and refunded',
    word: 'provider',
    options: ONE,
    async run(options) {
      const provider = providerOption(options)
      const scope = scopeOption(options)
      const { name } = provider.capabilities
      const { urls, record } = await withSecrets(async ({ urls, ...deps }) => ({
        urls,
        record: await removeIntegration(deps, actor(), scope, name),
      }))
      print(
        options.json,
        viewOf(urls, scope, provider, record),
        `${name} takes no new payments in ${scope.mode} mode.\nStarted payments can still be finished and refunded, so the encrypted keys are kept.`,
      )
    },
  }

  return [set, check, list, remove]
}

function scopeOption(options: Options): Owner {
  const merchantId = options.text('merchant') === undefined ? SANDBOX_MERCHANT_ID : merchantOption(options)
  const mode = (options.text('mode') ?? 'sandbox') as Mode
  if (!MODES.includes(mode)) throw new UsageError('--mode must be sandbox or live.')
  return { merchantId, mode }
}

function withSecrets<Result>(
  work: (deps: CommandDeps & { config: Config; urls: ServiceUrls; secrets: SecretBox }) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(process.env)
  return withDatabase(async (deps) =>
    work({
      ...deps,
      config,
      urls: await findServiceUrls(config),
      secrets: await openSecrets(config, deps.database),
    }),
  )
}

/** Prints one mistake per line. */
function toUsageError(error: unknown): never {
  if (!(error instanceof Problem) || !error.mistakes) throw error
  throw new UsageError(error.mistakes.map(({ message }) => message).join('\n'))
}

type View = ReturnType<typeof integrationView>

function viewOf({ baseUrl }: ServiceUrls, scope: Owner, provider: Provider, record: IntegrationRecord): View {
  const noticeURL = linksOn(() => baseUrl).notices(scope, record.provider)
  return integrationView(record, scope.mode, provider, noticeURL)
}

function describe(view: View): string {
  const facts = {
    provider: view.provider,
    ...view.settings,
    'secrets set': view.secretsSet.join(', ') || 'none',
    'base URL': view.baseURL ?? 'part of this service',
    channels: view.channels.join(', '),
    countries: view.countries.join(', '),
    currencies: view.currencies.join(', '),
    priority: String(view.priority),
    'notice URL': view.noticeURL,
  }
  const width = Math.max(...Object.keys(facts).map(({ length }) => length))
  return Object.entries(facts)
    .map(([name, value]) => `${name.padEnd(width)}  ${value}`)
    .join('\n')
}

function whatNext({ publicUrl }: Config, { merchantId, mode }: Owner, { capabilities, baseURL }: Provider): string {
  const active = 'New payments use it now.'
  if (baseURL === null) return active
  const unreachable = publicUrl
    ? ''
    : '\nPUBLIC_URL is not set, so the notice URL is on this machine and providers cannot reach it.'
  const check = `manilla integration check ${capabilities.name} --merchant ${merchantId} --mode ${mode}`
  return `${active} Set the notice URL as the webhook URL in the dashboard of ${capabilities.title}.${unreachable}\nNext: ${check}`
}
