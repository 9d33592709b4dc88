import { MODES, type Mode } from '../../kernel/mode.ts'
import { CREDENTIAL_SCOPES } from '../../merchants/credential-scopes.ts'
import { listCredentials } from '../../merchants/credential-store.ts'
import { createCredential, revokeCredential } from '../../merchants/manage-merchants.ts'
import { type Command, UsageError } from '../command.ts'
import { print, table } from '../print.ts'
import { actor, withDatabase } from '../with-database.ts'
import { merchantOption } from './merchant.ts'

export const credentialCreate: Command = {
  name: 'credential create',
  summary: 'Create a client-id and client-secret for a merchant (the secret is shown once)',
  options: {
    merchant: { value: 'mer_…', summary: 'The merchant', required: true },
    mode: { value: 'sandbox|live', summary: 'sandbox for tests, live for real money', required: true },
    scope: {
      value: 'SCOPE',
      summary: `${CREDENTIAL_SCOPES.join(', ')}; may be repeated; default: all`,
      repeats: true,
    },
    expires: { value: 'TIME', summary: 'Refused from this time on, like 2027-01-31 (UTC); default: never' },
    allow: {
      value: 'ADDRESS',
      summary: 'Address or CIDR range of the callers; may be repeated; default: all',
      repeats: true,
    },
  },
  async run(options) {
    const merchantId = merchantOption(options)
    const mode = options.required('mode') as Mode
    if (!MODES.includes(mode)) throw new UsageError('--mode must be sandbox or live.')
    const scopes = options.texts('scope')
    const limits = {
      ...(scopes.length > 0 && { scopes }),
      expiresAt: options.text('expires'),
      allowedAddresses: options.texts('allow'),
      isByOperator: true,
    }
    const credential = await withDatabase((deps) => createCredential(deps, actor(), merchantId, mode, limits))
    print(
      options.json,
      { ...credential, merchantId, mode },
      `client-id      ${credential.clientId}\nclient-secret  ${credential.clientSecret}\n\nThe secret is not shown again: store it now.`,
    )
  },
}

export const credentialList: Command = {
  name: 'credential list',
  summary: 'List active and revoked credentials (without secrets)',
  options: { merchant: { value: 'mer_…', summary: 'Only this merchant' } },
  async run(options) {
    const merchantId = options.text('merchant') === undefined ? undefined : merchantOption(options)
    const credentials = await withDatabase(({ database }) => listCredentials(database, merchantId))
    const rows = credentials.map((credential) => ({
      'client-id': credential.clientId,
      merchant: credential.merchantName,
      mode: credential.mode,
      scopes: credential.scopes.length === CREDENTIAL_SCOPES.length ? 'all' : credential.scopes.join(' '),
      addresses: credential.allowedAddresses.join(' ') || 'all',
      created: credential.createdAt.toISOString(),
      'last used': credential.lastUsedAt?.toISOString() ?? 'never',
      expires: credential.expiresAt?.toISOString() ?? 'never',
      revoked: credential.revokedAt?.toISOString() ?? '-',
    }))
    print(options.json, credentials, rows.length > 0 ? table(rows) : 'No credentials.')
  },
}

export const credentialRevoke: Command = {
  name: 'credential revoke',
  summary: 'Revoke a credential; every process refuses it within 2 s',
  options: { 'client-id': { value: 'cid_…', summary: 'The credential', required: true } },
  async run(options) {
    const clientId = options.required('client-id')
    await withDatabase((deps) => revokeCredential(deps, actor(), clientId))
    print(options.json, { clientId, revoked: true }, `Revoked ${clientId}. Every process refuses it within 2 s.`)
  },
}
