import type { AuditScope } from '../payments/store/provider-audit.ts'
import {
  type AccountLists,
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

/** One page of a list of an account, read with one version of its keys. */
export async function readPage(
  providers: Providers,
  scope: AuditScope,
  { kind, keysVersion, range, cursor }: { kind: ListKind; keysVersion: number; range: Range; cursor: string | null },
): Promise<Page> {
  let client: ProviderClient
  try {
    client = await providers.connect(scope, scope.provider, { keysVersion })
  } catch (error) {
    if (error instanceof NotSetUp) return { kind: 'skipped', areRefused: false }
    throw error
  }
  const answer = await client.lists?.[kind]?.(range, cursor)
  if (!answer) return { kind: 'unsupported', because: `${scope.provider} has no list of the ${kind} of an account` }
  if (answer.kind === 'page')
    return {
      ...{ kind: 'page', listing: listingOf(kind, answer, keysVersion), nextCursor: answer.nextCursor },
      unreadable: answer.unreadable ?? [],
    }
  const isRetired = keysVersion !== scope.keysVersion
  const keys = isRetired || answer.kind === 'unsupported' ? (await client.verifyKeys()).kind : 'unknown'
  // After a rotation the provider refuses the old keys. The current ones should list the same account.
  if (isRetired && keys === 'bad') return { kind: 'skipped', areRefused: true }
  // A list that breaks off is there, and refused keys say nothing of it.
  if (answer.kind === 'unsupported' && cursor === null && keys === 'good') return answer
  return { kind: 'unknown', because: answer.because }
}

type Of<Kind extends keyof AccountLists> = NonNullable<AccountLists[Kind]>
type Entries = Extract<Awaited<ReturnType<Of<ListKind>>>, { kind: 'page' }>

function listingOf(kind: ListKind, { entries }: Entries, keysVersion: number): Listing {
  // The list of a kind has entries of that kind.
  return { kind, entries: entries.map((each) => ({ ...each, keysVersion })) } as Listing
}
