import { useState } from 'preact/hooks'
import type { ApiKeys, NewApiKey } from '../answers.ts'
import { send } from '../api.ts'
import { Copyable } from '../components/copy.tsx'
import { useAction, useData } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { Form } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { ProblemText } from '../components/problem.tsx'
import { Screen } from '../components/screen.tsx'
import { Status } from '../components/status.tsx'
import { Time } from '../components/values.tsx'
import { useMerchant } from '../session.ts'

type ApiKey = ApiKeys[number]

export default function ApiKeysScreen() {
  const merchant = useMerchant()
  const path = merchant.api('/api-keys')
  const keys = useData<ApiKeys>(path)
  const [created, setCreated] = useState<NewApiKey>()
  const [revoking, setRevoking] = useState<ApiKey>()
  const create = useAction({ run: () => send<NewApiKey>('POST', path), refresh: [path], onDone: setCreated })
  const newKey = (
    <button type="button" class="primary" aria-busy={create.isPending} onClick={() => create.mutate()}>
      New {merchant.mode} key
    </button>
  )
  return (
    <Screen
      title="API keys"
      about={`Your backend sends a key with every request. These keys work in ${merchant.mode} mode only.`}
      actions={keys.data && keys.data.length > 0 && newKey}
    >
      <ProblemText error={create.error} />
      <List
        label="API keys"
        query={{ ...keys, rows: keys.data }}
        keyOf={({ clientId }) => clientId}
        hasTimes
        columns={[
          { name: 'Client ID', show: ({ clientId }) => <code>{clientId}</code> },
          {
            name: 'Status',
            show: ({ revokedAt }) =>
              revokedAt ? <Status tone="neutral">Revoked</Status> : <Status tone="good">Active</Status>,
          },
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
      {created && <NewKey created={created} onClose={() => setCreated(undefined)} />}
      {revoking && <Revoke path={path} apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </Screen>
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
