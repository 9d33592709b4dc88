import { useState } from 'preact/hooks'
import type { ApiKeyRequest, ApiKeys, NewApiKey, Permission } from '../answers.ts'
import { send } from '../api.ts'
import { Copyable } from '../components/copy.tsx'
import { useAction, useData } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { Field, Form, fieldErrors, SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { Screen } from '../components/screen.tsx'
import { Status } from '../components/status.tsx'
import { Time, useZone } from '../components/values.tsx'
import { useMerchant } from '../session.ts'
import { startOfDay } from '../zone.ts'

type ApiKey = ApiKeys[number]
type Scope = ApiKey['scopes'][number]

const SCOPES: Record<Scope, string> = {
  'payments:write': 'Create and cancel payments and links',
  'payments:read': 'Read payments, links, events and exports',
  refunds: 'Refund payments',
  integrations: 'Set up providers',
  webhooks: 'Webhook endpoints and secrets, which receive all events',
  'cases:read': 'Read cases',
  'cases:write': 'Close cases with a note',
}
const ALL = Object.keys(SCOPES) as Scope[]
/** A live key has only scopes that the role of its maker covers. */
const NEEDED: Partial<Record<Scope, Permission>> = {
  refunds: 'refunds',
  integrations: 'settings',
  'cases:write': 'refunds',
}

export default function ApiKeysScreen() {
  const merchant = useMerchant()
  const path = merchant.api('/api-keys')
  const keys = useData<ApiKeys>(path)
  const [isCreating, setCreating] = useState(false)
  const [created, setCreated] = useState<NewApiKey>()
  const [revoking, setRevoking] = useState<ApiKey>()
  const newKey = (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      New {merchant.mode} key
    </button>
  )
  const showKey = (key: NewApiKey) => {
    setCreating(false)
    setCreated(key)
  }
  return (
    <Screen
      title="API keys"
      about={`Your backend sends a key with every request. These keys work in ${merchant.mode} mode only.`}
      actions={keys.data && keys.data.length > 0 && newKey}
    >
      <List
        label="API keys"
        query={{ ...keys, rows: keys.data }}
        keyOf={({ clientId }) => clientId}
        hasTimes
        columns={[
          { name: 'Client ID', show: ({ clientId }) => <code>{clientId}</code> },
          { name: 'Status', show: (key) => <KeyStatus apiKey={key} /> },
          { name: 'Scopes', show: ({ scopes }) => (scopes.length === ALL.length ? 'All' : scopes.join(', ')) },
          { name: 'Addresses', show: ({ allowedAddresses }) => allowedAddresses.join(', ') || 'All' },
          { name: 'Expires', show: ({ expiresAt }) => <Time at={expiresAt} /> },
          { name: 'Created', show: ({ createdAt }) => <Time at={createdAt} /> },
          { name: 'Last used', show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          {
            name: 'Actions',
            kind: 'actions',
            show: (key) =>
              !key.revokedAt && (
                <button type="button" aria-label={`Revoke ${key.clientId}`} onClick={() => setRevoking(key)}>
                  Revoke
                </button>
              ),
          },
        ]}
        empty={{
          title: `No ${merchant.mode} keys`,
          text: 'Create a key to make payments from your backend.',
          action: newKey,
        }}
      />
      {isCreating && (
        <CreateKey path={path} keys={keys.data ?? []} onDone={showKey} onClose={() => setCreating(false)} />
      )}
      {created && <NewKey created={created} onClose={() => setCreated(undefined)} />}
      {revoking && <Revoke path={path} apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </Screen>
  )
}

function KeyStatus({ apiKey: { revokedAt, hasExpired, expiresSoon } }: { apiKey: ApiKey }) {
  if (revokedAt) return <Status tone="neutral">Revoked</Status>
  if (hasExpired) return <Status tone="neutral">Expired</Status>
  if (expiresSoon) return <Status tone="attention">Expires soon</Status>
  return <Status tone="good">Active</Status>
}

interface CreateParts {
  path: string
  keys: ApiKeys
  onDone: (key: NewApiKey) => void
  onClose: () => void
}

function CreateKey({ path, keys, onDone, onClose }: CreateParts) {
  const zone = useZone()
  const { mode, role, may } = useMerchant()
  const isCovered = (scope: Scope) => mode === 'sandbox' || may(NEEDED[scope] ?? 'keys')
  const offered = ALL.filter(isCovered)
  const [scopes, setScopes] = useState<Scope[]>(offered)
  const [lastDay, setLastDay] = useState('')
  const [addresses, setAddresses] = useState('')
  const [replaces, setReplaces] = useState('')
  const working = keys.filter(({ revokedAt, hasExpired }) => !revokedAt && !hasExpired)
  const action = useAction({
    run: () => {
      const request: ApiKeyRequest = {
        scopes,
        expiresAt: startOfDay(lastDay, zone, 1)?.toISOString() ?? null,
        allowedAddresses: addresses.split(/[\s,]+/).filter(Boolean),
        ...(replaces && { replaces }),
      }
      return send<NewApiKey>('POST', path, request)
    },
    refresh: [path],
    onDone,
  })
  const errors = fieldErrors(action.error)
  return (
    <Dialog title="New key" onClose={onClose}>
      <Form submit="Create key" action={action} onCancel={onClose}>
        <fieldset class="choices" aria-describedby={errors.scopes ? 'scopes-error' : undefined}>
          <legend>The key may</legend>
          {offered.map((scope) => (
            <label key={scope} class="check">
              <input
                type="checkbox"
                checked={scopes.includes(scope)}
                onChange={({ currentTarget: { checked } }) =>
                  setScopes(ALL.filter((each) => (each === scope ? checked : scopes.includes(each))))
                }
              />
              {SCOPES[scope]}
            </label>
          ))}
          {offered.length < ALL.length && <p class="hint">Your role, {role}, does not cover other scopes.</p>}
          {errors.scopes && (
            <p id="scopes-error" class="field-error">
              {errors.scopes}
            </p>
          )}
        </fieldset>
        <Field label="Last day (optional)" type="date" value={lastDay} error={errors.expiresAt} onText={setLastDay} />
        <Field
          label="Allowed addresses (optional)"
          hint="Addresses and ranges of your servers, like 203.0.113.7, 10.0.0.0/8. At most 50."
          value={addresses}
          error={errors.allowedAddresses}
          onText={setAddresses}
        />
        {working.length > 0 && (
          <SelectField
            label="Replaces (optional)"
            hint="The old key ends after 24 hours."
            value={replaces}
            options={[['', 'No key'], ...working.map(({ clientId }) => [clientId, clientId] as const)]}
            onChange={setReplaces}
          />
        )}
      </Form>
    </Dialog>
  )
}

function NewKey({ created, onClose }: { created: NewApiKey; onClose: () => void }) {
  return (
    <Dialog title="Your new key" onClose={onClose}>
      <p>Copy the secret now. It is not shown again.</p>
      <h3>Client ID</h3>
      <Copyable label="client ID" text={created.clientId} />
      <h3>Client secret</h3>
      <Copyable label="client secret" text={created.clientSecret} />
      <div class="form-actions">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}

function Revoke({ path, apiKey, onClose }: { path: string; apiKey: ApiKey; onClose: () => void }) {
  const action = useAction({
    run: () => send('DELETE', `${path}/${apiKey.clientId}`),
    refresh: [path],
    done: 'Key revoked',
    onDone: onClose,
  })
  return (
    <Dialog title="Revoke this key?" onClose={onClose}>
      <Form submit="Revoke" isDangerous action={action} onCancel={onClose}>
        <p>
          Requests with <code>{apiKey.clientId}</code> are refused at once. This cannot be undone.
        </p>
      </Form>
    </Dialog>
  )
}
