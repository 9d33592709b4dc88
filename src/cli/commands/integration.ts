import { type Parts, privateAllowedBy } from '../../compose.ts'
import { type Config, readConfig } from '../../config.ts'
import { SANDBOX_MERCHANT_ID } from '../../integrations/create-merchant.ts'
import { DEFAULT_PRIORITY, type IntegrationRecord, MAX_PRIORITY } from '../../integrations/integration.ts'
import { listIntegrations } from '../../integrations/integration-store.ts'
import { integrationView } from '../../integrations/integration-view.ts'
import {
  checkIntegration,
  removeIntegration,
  setIntegration,
  setsKeys,
  warnOfKeys,
} from '../../integrations/manage-integrations.ts'
import { MODES, type Mode } from '../../kernel/mode.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { linksOn } from '../../payments/links.ts'
import type { Provider } from '../../providers/provider.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print, table } from '../print.ts'
import { openProviders } from '../provider-accounts.ts'
import { actor, openSecrets, withParts } from '../with-parts.ts'
import { readChanges } from './integration-options.ts'
import { merchantOption } from './merchant.ts'

const OWNER: Command['options'] = {
  merchant: { value: 'mer_…', summary: 'Whose (default: the sandbox merchant)' },
  mode: { value: 'sandbox|live', summary: 'Which one (default: sandbox)' },
}

/** Of these providers: what they are, need and can do is theirs to say. */
export function integrationCommands(providers: readonly Provider[]): Command[] {
  const names = providers.map(({ capabilities }) => capabilities.name)
  const ONE: Command['options'] = {
    provider: { value: names.join('|'), summary: 'Which one', required: true },
    ...OWNER,
  }

  const find = (name: string) => providers.find(({ capabilities }) => capabilities.name === name)

  function providerOption(options: Options): Provider {
    const name = options.required('provider')
    const found = find(name)
    if (!found) throw new UsageError(`There is no provider "${name}". There are: ${names.join(', ')}.`)
    return found
  }

  const set: Command = {
    name: 'integration set',
    summary: 'Set a provider up for a merchant, or change it: what is not named stays as it is',
    word: 'provider',
    options: {
      ...ONE,
      setting: {
        value: 'NAME=VALUE',
        summary:
          'A key and the like; repeat it for each. NAME=@FILE reads it from a file and NAME=- from standard input: those keep a secret out of the shell’s history. NAME= takes an optional one away',
        repeats: true,
      },
      'base-url': { value: 'URL|none', summary: 'Where the provider’s API is; none: where it usually is' },
      channels: { value: 'card,…|all', summary: 'Which channels to use it for' },
      countries: { value: 'NG,…|all', summary: 'Which countries to use it in' },
      currencies: { value: 'NGN,…|all', summary: 'Which currencies to use it for' },
      priority: {
        value: `0..${MAX_PRIORITY}`,
        summary: `The lower number is asked first (at first: ${DEFAULT_PRIORITY})`,
      },
    },
    async run(options) {
      const provider = providerOption(options)
      const owner = ownerOption(options)
      const wish = await readChanges(options)
      const { config, record, warning } = await withSecrets(async ({ config, ...parts }) => {
        const allowPrivate = privateAllowedBy(config)
        const saved = await setIntegration({ ...parts, allowPrivate }, actor(), owner, provider, wish).catch(forPeople)
        const accounts = setsKeys(provider, wish) ? await openProviders(config, parts, providers) : undefined
        const { name } = provider.capabilities
        return {
          config,
          record: saved,
          warning: accounts ? await warnOfKeys({ providers: accounts }, owner, name) : null,
        }
      })
      const view = viewOf(config, owner, provider, record)
      const next = warning
        ? `Warning: ${warning.message}\n${whatNext(config, owner, provider)}`
        : whatNext(config, owner, provider)
      print(options.json, { ...view, warning }, `${describe(view)}\n\n${next}`)
    },
  }

  const check: Command = {
    name: 'integration check',
    summary: 'Ask a provider whether the keys of a merchant work',
    word: 'provider',
    options: ONE,
    async run(options) {
      const { name } = providerOption(options).capabilities
      const owner = ownerOption(options)
      const verdict = await withSecrets(async ({ config, database, secrets }) => {
        const accounts = await openProviders(config, { database, secrets }, providers)
        return checkIntegration({ database, secrets, providers: accounts }, owner, name)
      })
      const reason = verdict.kind === 'good' ? null : verdict.because
      const says = {
        good: `${name} takes the ${owner.mode} keys.`,
        bad: `${name} does not take the ${owner.mode} keys: ${reason}.`,
        unknown: `${name} did not say whether it takes the ${owner.mode} keys: ${reason}. Try again.`,
      }
      print(options.json, { keys: verdict.kind, reason }, says[verdict.kind])
      if (verdict.kind !== 'good') process.exitCode = 1
    },
  }

  const list: Command = {
    name: 'integration list',
    summary: 'Show how a merchant’s providers are set up, in the order in which they are asked (never a secret)',
    options: OWNER,
    async run(options) {
      const owner = ownerOption(options)
      const { config, records } = await withSecrets(async ({ config, database, secrets }) => ({
        config,
        records: await listIntegrations(database, secrets, owner),
      }))
      const views = records.flatMap((record) => {
        const provider = find(record.provider)
        return provider ? [viewOf(config, owner, provider, record)] : []
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
        .filter(({ capabilities }) => owner.mode === 'sandbox' || !capabilities.sandboxOnly)
        .filter(({ capabilities }) => !views.some(({ provider }) => provider === capabilities.name))
        .map(({ capabilities, settings }) =>
          [capabilities.name, settings.length > 0 ? `(${settings.map(({ name }) => name).join(', ')})` : '']
            .join(' ')
            .trim(),
        )
      const more = others.length > 0 ? `\n\nCan be set up: ${others.join('; ')}.` : ''
      print(options.json, views, (rows.length > 0 ? table(rows) : 'There are none.') + more)
    },
  }

  const remove: Command = {
    name: 'integration remove',
    summary: 'Use a provider for no new payment of a merchant; what is under way can still be finished and refunded',
    word: 'provider',
    options: ONE,
    async run(options) {
      const provider = providerOption(options)
      const owner = ownerOption(options)
      const { name } = provider.capabilities
      const { config, record } = await withSecrets(async ({ config, ...parts }) => ({
        config,
        record: await removeIntegration(parts, actor(), owner, name),
      }))
      print(
        options.json,
        viewOf(config, owner, provider, record),
        `${name} takes no new payment in ${owner.mode} mode.\nWhat is under way can still be finished and refunded, so its keys are kept, sealed.`,
      )
    },
  }

  return [set, check, list, remove]
}

function ownerOption(options: Options): Scope {
  const merchantId = options.text('merchant') === undefined ? SANDBOX_MERCHANT_ID : merchantOption(options)
  const mode = (options.text('mode') ?? 'sandbox') as Mode
  if (!MODES.includes(mode)) throw new UsageError('--mode must be sandbox or live.')
  return { merchantId, mode }
}

function withSecrets<Result>(
  work: (parts: Parts & { config: Config; secrets: SecretBox }) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(process.env)
  return withParts(async (parts) => work({ ...parts, config, secrets: await openSecrets(config, parts.database) }))
}

/** One mistake a line. */
function forPeople(error: unknown): never {
  if (!(error instanceof Problem) || !error.mistakes) throw error
  throw new UsageError(error.mistakes.map(({ message }) => message).join('\n'))
}

function baseUrlOf({ publicUrl, port }: Config): string {
  return publicUrl ?? `http://localhost:${port}`
}

type View = ReturnType<typeof integrationView>

function viewOf(config: Config, owner: Scope, provider: Provider, record: IntegrationRecord): View {
  const noticeURL = linksOn(() => baseUrlOf(config)).notices(owner, record.provider)
  return integrationView(record, owner.mode, provider, noticeURL)
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

function whatNext({ publicUrl }: Config, { merchantId, mode }: Scope, { capabilities, baseURL }: Provider): string {
  const known = 'New payments use it now.'
  if (baseURL === null) return known
  const unreachable = publicUrl
    ? ''
    : '\nPUBLIC_URL is not set, so the notice URL names this machine, which no provider can reach.'
  const check = `manilla integration check ${capabilities.name} --merchant ${merchantId} --mode ${mode}`
  return `${known} Paste the notice URL into the dashboard of ${capabilities.title}, as the address of its webhooks.${unreachable}\nNext: ${check}`
}
