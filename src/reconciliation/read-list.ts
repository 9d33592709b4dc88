import type { AuditScope } from '../payments/store/provider-audit.ts'
import {
  type AccountLists,
  type ListAnswer,
  type ListedSettlement,
  NotSetUp,
  type OfOrder,
  type ProviderClient,
  type Providers,
} from '../providers/provider.ts'
import type { Listing } from './compare-entries.ts'
import type { Range } from './windows.ts'

export type ListKind = Listing['kind']
export const LIST_KINDS: readonly ListKind[] = ['transactions', 'refunds', 'disputes']

export type Page =
  | { kind: 'page'; listing: Listing; nextCursor: string | null; unreadable: OfOrder[] }
  | { kind: 'unsupported'; because: string }
  /** These keys list nothing: they are deleted, or the provider refuses retired ones. The next version goes on. */
  | { kind: 'skipped'; areRefused: boolean }
  | { kind: 'unknown'; because: string }

interface PageWanted<Kind> {
  kind: Kind
  keysVersion: number
  range: Range
  cursor: string | null
}

/** One page of a list of an account, read with one version of its keys. */
export async function readPage(providers: Providers, scope: AuditScope, wanted: PageWanted<ListKind>): Promise<Page> {
  const { kind, keysVersion, range, cursor } = wanted
  const answer = await readAnswer<Entries>(providers, scope, wanted, (lists) => lists[kind]?.(range, cursor))
  if (answer.kind !== 'page') return answer
  return {
    ...{ kind: 'page', listing: listingOf(kind, answer, keysVersion), nextCursor: answer.nextCursor },
    unreadable: answer.unreadable ?? [],
  }
}

/** One page of what the provider pays out. */
export function readSettlementPage(providers: Providers, scope: AuditScope, wanted: PageWanted<'settlements'>) {
  const read = ({ settlements }: AccountLists) => settlements?.(wanted.range, wanted.cursor)
  return readAnswer<Extract<ListAnswer<ListedSettlement>, { kind: 'page' }>>(providers, scope, wanted, read)
}

async function readAnswer<Answer>(
  providers: Providers,
  scope: AuditScope,
  { kind, keysVersion, cursor }: Omit<PageWanted<string>, 'range'>,
  read: (lists: AccountLists) => Promise<Answer | NotListed> | undefined,
): Promise<Answer | NotListed | Extract<Page, { kind: 'skipped' }>> {
  let client: ProviderClient
  try {
    client = await providers.connect(scope, scope.provider, { keysVersion })
  } catch (error) {
    if (error instanceof NotSetUp) return { kind: 'skipped', areRefused: false }
    throw error
  }
  const answer = client.lists && (await read(client.lists))
  if (!answer) return { kind: 'unsupported', because: `${scope.provider} has no list of the ${kind} of an account` }
  if (!isNotListed(answer)) return answer
  const isRetired = keysVersion !== scope.keysVersion
  const keys = isRetired || answer.kind === 'unsupported' ? (await client.verifyKeys()).kind : 'unknown'
  // After a rotation the provider refuses the old keys. The current ones should list the same account.
  if (isRetired && keys === 'bad') return { kind: 'skipped', areRefused: true }
  // A list that breaks off is there, and refused keys say nothing of it.
  if (answer.kind === 'unsupported' && cursor === null && keys === 'good') return answer
  return { kind: 'unknown', because: answer.because }
}

type NotListed = Extract<Page, { kind: 'unsupported' | 'unknown' }>
const isNotListed = <Answer>(answer: Answer | NotListed): answer is NotListed =>
  ['unsupported', 'unknown'].includes((answer as NotListed).kind)

type Of<Kind extends keyof AccountLists> = NonNullable<AccountLists[Kind]>
type Entries = Extract<Awaited<ReturnType<Of<ListKind>>>, { kind: 'page' }>

function listingOf(kind: ListKind, { entries }: Entries, keysVersion: number): Listing {
  // The list of a kind has entries of that kind.
  return { kind, entries: entries.map((each) => ({ ...each, keysVersion })) } as Listing
}
