import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import { Copyable } from '../components/copy.tsx'
import { useAction, useData } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { Field, Form, fieldErrors } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { channelName, inWords } from '../components/payment-status.tsx'
import { ProblemText } from '../components/problem.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { Status } from '../components/status.tsx'
import { announce } from '../components/toasts.tsx'
import type { KeysVerdict, ProviderRow } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

type Opened = { what: 'setup' | 'off'; row: ProviderRow }

export default function Providers() {
  const merchant = useMerchant()
  const path = merchant.api('/providers')
  const providers = useData<ProviderRow[]>(path)
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const rows = providers.data
  const used = rows?.filter(({ integration }) => integration?.enabled)
  const others = rows?.filter(({ integration }) => !integration?.enabled)
  const order = useAction({
    run: (names: string[]) => send('PUT', merchant.api('/provider-order'), { providers: names }),
    refresh: [path],
    done: 'Order saved',
  })
  const check = useAction({
    run: ({ provider }: ProviderRow) => send<KeysVerdict>('POST', merchant.api(`/integrations/${provider}/check`)),
    onDone: ({ keys, reason }) => announce(keys === 'good' ? 'The keys work' : `The keys do not work: ${reason}`),
  })
  const move = (index: number, by: -1 | 1) => {
    const names = (used ?? []).map(({ provider }) => provider)
    const [name = ''] = names.splice(index, 1)
    names.splice(index + by, 0, name)
    order.mutate(names)
  }
  return (
    <Screen
      title="Providers"
      about={`Who takes the money in ${merchant.mode} mode. The first that fits a payment is used first.`}
    >
      <ProblemText error={order.error ?? check.error} />
      <Section title="In use">
        <List
          label="Providers in use"
          query={{ ...providers, rows: used }}
          keyOf={({ provider }) => provider}
          columns={[
            { name: 'Provider', show: (row) => <Name row={row} /> },
            { name: 'Health', show: (row) => <Health row={row} /> },
            {
              name: 'Actions',
              kind: 'actions',
              show: (row) => {
                const index = used?.indexOf(row) ?? 0
                return (
                  <>
                    <button
                      type="button"
                      aria-label={`Use ${row.title} earlier`}
                      disabled={index === 0 || order.isPending}
                      onClick={() => move(index, -1)}
                    >
                      ↑
                    </button>
                    <button
                      type="button"
                      aria-label={`Use ${row.title} later`}
                      disabled={index + 1 === used?.length || order.isPending}
                      onClick={() => move(index, 1)}
                    >
                      ↓
                    </button>
                    {row.settings.length > 0 && (
                      <button
                        type="button"
                        aria-label={`Check the keys of ${row.title}`}
                        aria-busy={check.isPending}
                        onClick={() => check.mutate(row)}
                      >
                        Check keys
                      </button>
                    )}
                    {row.settings.length > 0 && (
                      <button
                        type="button"
                        aria-label={`Change ${row.title}`}
                        onClick={() => setOpened({ what: 'setup', row })}
                      >
                        Change
                      </button>
                    )}
                    <button
                      type="button"
                      aria-label={`Switch off ${row.title}`}
                      onClick={() => setOpened({ what: 'off', row })}
                    >
                      Switch off
                    </button>
                  </>
                )
              },
            },
          ]}
          empty={{ title: 'No provider yet', text: 'Set one up below. Until then nothing can be paid in this mode.' }}
        />
      </Section>
      {others && others.length > 0 && (
        <Section title="Available">
          <List
            label="Available providers"
            query={{ ...providers, rows: others }}
            keyOf={({ provider }) => provider}
            columns={[
              { name: 'Provider', show: (row) => <Name row={row} /> },
              { name: 'Currencies', show: ({ currencies }) => currencies.join(', ') },
              {
                name: 'Actions',
                kind: 'actions',
                show: (row) => (
                  <button
                    type="button"
                    aria-label={`Set up ${row.title}`}
                    onClick={() => setOpened({ what: 'setup', row })}
                  >
                    {row.integration ? 'Switch on' : 'Set up'}
                  </button>
                ),
              },
            ]}
            empty={{ title: '', text: '' }}
          />
        </Section>
      )}
      {opened?.what === 'setup' && <SetUpDialog row={opened.row} path={path} onClose={close} />}
      {opened?.what === 'off' && <OffDialog row={opened.row} path={path} onClose={close} />}
    </Screen>
  )
}

function Name({ row }: { row: ProviderRow }) {
  return (
    <div>
      <span class="cell-main">{row.title}</span>
      <div class="cell-more">{row.channels.map(channelName).join(', ')}</div>
    </div>
  )
}

function Health({ row: { healthy, noticeSeen } }: { row: ProviderRow }) {
  return (
    <div>
      {healthy ? <Status tone="good">Working</Status> : <Status tone="attention">Failing lately</Status>}
      <div class="cell-more">{noticeSeen ? 'Notices arrive' : 'No notice yet'}</div>
    </div>
  )
}

/** Keys, then the address for notices. */
function SetUpDialog({ row, path, onClose }: { row: ProviderRow; path: string; onClose: () => void }) {
  const merchant = useMerchant()
  const [values, setValues] = useState<Record<string, string>>(row.integration?.settings ?? {})
  const [warning, setWarning] = useState<string>()
  const [isSaved, setSaved] = useState(false)
  const isSet = (name: string) => row.integration?.secretsSet.includes(name) ?? false
  const action = useAction({
    run: async () => {
      const given = Object.entries(values).filter(([name, value]) => value !== '' || !isSet(name))
      await send('PUT', merchant.api(`/integrations/${row.provider}`), {
        settings: Object.fromEntries(given.filter(([, value]) => value !== '')),
      })
      return row.settings.length > 0
        ? send<KeysVerdict>('POST', merchant.api(`/integrations/${row.provider}/check`))
        : ({ keys: 'good', reason: null } as KeysVerdict)
    },
    refresh: [path],
    onDone: ({ keys, reason }) => {
      setWarning(keys === 'good' ? undefined : `${row.title} does not accept these keys: ${reason}. They are saved.`)
      setSaved(true)
    },
  })
  const errors = fieldErrors(action.error)
  if (isSaved)
    return (
      <Dialog title={`${row.title} is set up`} onClose={onClose}>
        <p>{warning ? <Status tone="attention">{warning}</Status> : <Status tone="good">The keys work.</Status>}</p>
        <p>Enter this address as the webhook URL in the dashboard of {row.title}:</p>
        <Copyable label="notice URL" text={row.noticeURL} />
        <div class="form-actions">
          <button type="button" class="primary first" onClick={onClose}>
            Done
          </button>
        </div>
      </Dialog>
    )
  return (
    <Dialog title={`Set up ${row.title}`} onClose={onClose}>
      <Form submit="Save and check" action={action} onCancel={onClose}>
        {row.settings.map(({ name, about, secret, optional, looksLike }) => (
          <Field
            key={name}
            label={inWords(name.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`))}
            hint={about}
            placeholder={secret && isSet(name) ? 'Set. Leave it empty to keep it.' : looksLike}
            required={!optional && !isSet(name)}
            autocomplete="off"
            spellcheck={false}
            type={secret ? 'password' : 'text'}
            value={values[name] ?? ''}
            error={errors[`settings/${name}`]}
            onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        ))}
      </Form>
    </Dialog>
  )
}

function OffDialog({ row, path, onClose }: { row: ProviderRow; path: string; onClose: () => void }) {
  const merchant = useMerchant()
  const action = useAction({
    run: () => send('DELETE', merchant.api(`/integrations/${row.provider}`)),
    refresh: [path],
    done: `${row.title} is switched off`,
    onDone: onClose,
  })
  return (
    <Dialog title={`Switch ${row.title} off?`} onClose={onClose}>
      <Form submit="Switch off" isDangerous action={action} onCancel={onClose}>
        <p>New payments no longer use it. Payments in progress are finished and can be refunded.</p>
      </Form>
    </Dialog>
  )
}
