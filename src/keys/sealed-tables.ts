import { defaultSecretContext } from '../events/webhook-secret-store.ts'
import { settingsContext } from '../integrations/provider-keys-store.ts'
import { idOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Owner } from '../kernel/scope.ts'
import { totpContext } from '../members/prove-identity.ts'
import { noticeContext } from '../payments/store/notices.ts'
import { refundAccountContext } from '../payments/store/refund-accounts.ts'
import { tokenContext } from '../payments/store/saved-cards.ts'
import { endpointSecretContext } from '../webhooks/endpoint-store.ts'

/** A row as the database has it: its key, its sealed values, and what their context is made of. */
// biome-ignore lint/suspicious/noExplicitAny: each table has columns of its own
export type SealedRow = Record<string, any>

export interface SealedTable {
  table: string
  /** For people. */
  kind: string
  /** The primary key, with the types of its columns. */
  key: Record<string, KeyType>
  /** The sealed values. */
  columns: string[]
  /** Further columns that `contextOf` needs. */
  needs: string[]
  /** The associated data that the values of a row were sealed with. */
  contextOf(row: SealedRow): string
}

export type KeyType = 'uuid' | 'text' | 'integer' | 'smallint' | 'bigint'

const ownerOf = ({ merchant_id, mode }: SealedRow): Owner => ({
  merchantId: idOf('merchant', merchant_id),
  mode: mode as Mode,
})

/** Every table with values that are sealed with SECRET_KEY. `secret_keys` has one for each key. */
export const SEALED_TABLES: SealedTable[] = [
  {
    table: 'provider_accounts',
    kind: 'provider keys',
    key: { merchant_id: 'uuid', mode: 'text', provider: 'text', version: 'integer' },
    columns: ['sealed_settings'],
    needs: [],
    contextOf: (row) => settingsContext(ownerOf(row), row.provider),
  },
  {
    table: 'webhook_secrets',
    kind: 'webhook secrets of merchants',
    key: { merchant_id: 'uuid', mode: 'text' },
    columns: ['sealed_secret', 'sealed_previous_secret'],
    needs: [],
    contextOf: (row) => defaultSecretContext(ownerOf(row)),
  },
  {
    table: 'webhook_endpoints',
    kind: 'webhook secrets of endpoints',
    key: { id: 'uuid' },
    columns: ['sealed_secret', 'sealed_previous_secret'],
    needs: [],
    contextOf: (row) => endpointSecretContext(idOf('endpoint', row.id)),
  },
  {
    table: 'members',
    kind: 'authenticator apps of members',
    key: { id: 'uuid' },
    columns: ['totp_secret', 'totp_pending'],
    needs: [],
    contextOf: (row) => totpContext(idOf('member', row.id)),
  },
  {
    table: 'saved_cards',
    kind: 'tokens of saved cards',
    key: { id: 'uuid', place: 'smallint' },
    columns: ['sealed_token'],
    needs: ['merchant_id', 'mode', 'provider', 'user_id', 'email'],
    contextOf: (row) => tokenContext(ownerOf(row), row.provider, { id: row.user_id, email: row.email }),
  },
  {
    table: 'refunds',
    kind: 'bank accounts of refunds',
    key: { id: 'uuid', place: 'smallint' },
    columns: ['sealed_account'],
    needs: [],
    contextOf: (row) => refundAccountContext(idOf('refund', row.id, row.place)),
  },
  {
    table: 'notices',
    kind: 'notices of providers',
    key: { id: 'bigint', place: 'smallint' },
    columns: ['body'],
    needs: ['digest'],
    contextOf: (row) => noticeContext(row.digest),
  },
]
