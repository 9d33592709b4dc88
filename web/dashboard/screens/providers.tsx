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
import { Time } from '../components/values.tsx'
import type { KeysVerdict, ProviderRow } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { useOrder } from './provider-order.ts'

type Opened = { what: 'setup' | 'off' | 'notices'; row: ProviderRow }

export default function Providers() {
  const merchant = useMerchant()
  const path = merchant.api('/providers')
  const providers = useData<ProviderRow[]>(path)
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const rows = providers.data
  const others = rows?.filter(({ integration }) => !integration?.enabled)
  const { used, order, moveTo, rowProps } = useOrder(rows, path)
  const check = useAction({
    run: ({ provider }: ProviderRow) => send<KeysVerdict>('POST', merchant.api(`/integrations/${provider}/check`)),
    onDone: ({ keys, reason }) => announce(keys === 'good' ? 'The keys work' : `The keys do not work: ${reason}`),
  })
  const addChannels = useAction({
    // An empty list means all that the provider offers.
    run: ({ provider }: ProviderRow) => send('PUT', merchant.api(`/integrations/${provider}`), { channels: [] }),
    refresh: [path],
    done: 'Customers can pay by all methods of this provider now',
  })
  return (
    <Screen
      title="Providers"
      about={`Who takes the money in ${merchant.mode} mode. The first that fits a payment is used first.`}
    >
      <ProblemText error={order.error ?? check.error ?? addChannels.error} />
      <Section title="In use" about={(used?.length ?? 0) > 1 && 'Drag a row, or use the arrows, to change the order.'}>
        <List
          label="Providers in use"
          query={{ ...providers, rows: used }}
          keyOf={({ provider }) => provider}
          rowProps={rowProps}
          columns={[
            { name: 'Order', show: (row) => (used?.indexOf(row) ?? 0) + 1 },
            {
              name: 'Provider',
              show: (row) => (
                <div>
                  <Name row={row} />
                  <MoreChannels row={row} onAdd={() => addChannels.mutate(row)} />
                </div>
              ),
            },
            {
              name: 'Health',
              show: (row) => <Health row={row} onNotices={() => setOpened({ what: 'notices', row })} />,
            },
            {
              name: 'Actions',
              kind: 'actions',
              show: (row) => {
                const index = used?.indexOf(row) ?? 0
                // Not `disabled`: the button would lose the focus between two presses.
                const arrow = (name: string, by: -1 | 1, sign: string) => (
                  <button
                    type="button"
                    aria-label={`Use ${row.title} ${name}`}
                    aria-disabled={index + by < 0 || index + by === used?.length}
                    onClick={() => moveTo(row, index + by)}
                  >
                    {sign}
                  </button>
                )
                return (
                  <>
                    {arrow('earlier', -1, '↑')}
                    {arrow('later', 1, '↓')}
                    {row.settings.length > 0 && (
                      <button
                        type="button"
                        aria-label={`Check keys of ${row.title}`}
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
              { name: 'Currencies', show: ({ currencies }) => currencies.join(', ') || 'Those of your account' },
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
      {opened?.what === 'notices' && (
        <Dialog title={`Notices of ${opened.row.title}`} onClose={close}>
          <NoticeAddress row={opened.row} path={path} onClose={close} />
        </Dialog>
      )}
      {opened?.what === 'off' && <OffDialog row={opened.row} path={path} onClose={close} />}
    </Screen>
  )
}

function Name({ row }: { row: ProviderRow }) {
  return (
    <div>
      <span class="cell-main">{row.title}</span>
      <div class="cell-more">{(row.integration?.channels ?? row.channels).map(channelName).join(', ')}</div>
      <details class="cell-more">
        <summary aria-label={`Fees of ${row.title}`}>Fees</summary>
        <ul>
          {row.fees.map(({ channel, currency, text }) => (
            <li key={channel + currency}>
              {channelName(channel)}, {currency}: {text}
            </li>
          ))}
        </ul>
      </details>
    </div>
  )
}

/** A new version may offer more than was switched on. Nothing is added without the merchant. */
function MoreChannels({ row, onAdd }: { row: ProviderRow; onAdd: () => void }) {
  const used = row.integration?.channels ?? row.channels
  const more = row.channels.filter((channel) => !used.includes(channel)).map(channelName)
  if (more.length === 0) return null
  return (
    <div class="cell-more">
      Also offered, switched off: {more.join(', ')}.{' '}
      <button type="button" class="link" aria-label={`Switch on ${more.join(', ')} of ${row.title}`} onClick={onAdd}>
        Switch on
      </button>
    </div>
  )
}

function Health({
  row: { healthy, noticeSeen, title, lists },
  onNotices,
}: {
  row: ProviderRow
  onNotices: () => void
}) {
  const compared = lists.some(({ failure }) => failure) ? 'Not compared with all lists' : 'Compared with its lists'
  return (
    <div>
      {healthy ? (
        <Status tone="good">Answers normally</Status>
      ) : (
        <>
          <Status tone="attention">Failing</Status>
          <div class="cell-more">Its last calls failed. Other providers are used first.</div>
        </>
      )}
      <div class="cell-more">
        {noticeSeen ? (
          'First notice seen'
        ) : (
          <button type="button" class="link" aria-label={`No notice yet: show the URL of ${title}`} onClick={onNotices}>
            No notice yet
          </button>
        )}
      </div>
      <details class="cell-more">
        <summary aria-label={`${compared}: ${title}`}>{compared}</summary>
        <ul>
          {lists.map(({ kind, comparedAt, failure, unsupported }) => (
            <li key={kind}>
              {kind}: <Time at={comparedAt} />
              {(failure ?? unsupported) && `, ${failure ?? unsupported}`}
            </li>
          ))}
        </ul>
      </details>
    </div>
  )
}

/** The address that the provider's dashboard needs, and whether it has been used. */
function NoticeAddress({ row, path, onClose }: { row: ProviderRow; path: string; onClose: () => void }) {
  const isSeen = (rows: ProviderRow[] | undefined) =>
    rows?.find(({ provider }) => provider === row.provider)?.noticeSeen ?? false
  const { data } = useData<ProviderRow[]>(path, isSeen)
  return (
    <>
      <p>Enter this address as the webhook URL in the dashboard of {row.title}:</p>
      <Copyable label="notice URL" text={row.noticeURL} />
      <p role="status">
        {isSeen(data) ? (
          <Status tone="good">First notice seen</Status>
        ) : (
          <Status tone="waiting">Waiting for the first notice</Status>
        )}
      </p>
      <div class="form-actions">
        <button type="button" class="primary first" onClick={onClose}>
          Done
        </button>
      </div>
    </>
  )
}

/** Keys, then the address for notices. */
function SetUpDialog({ row, path, onClose }: { row: ProviderRow; path: string; onClose: () => void }) {
  const merchant = useMerchant()
  const [values, setValues] = useState<Record<string, string>>(row.integration?.settings ?? {})
  const [baseURL, setBaseURL] = useState('')
  const [warning, setWarning] = useState<string>()
  const [isSaved, setSaved] = useState(false)
  const isSet = (name: string) => row.integration?.secretsSet.includes(name) ?? false
  const action = useAction({
    run: async () => {
      const given = Object.entries(values).filter(([name, value]) => value !== '' || !isSet(name))
      await send('PUT', merchant.api(`/integrations/${row.provider}`), {
        settings: Object.fromEntries(given.filter(([, value]) => value !== '')),
        ...(baseURL.trim() && { baseURL: baseURL.trim() }),
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
        <NoticeAddress row={row} path={path} onClose={onClose} />
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
            onText={(text) => setValues({ ...values, [name]: text })}
          />
        ))}
        {row.settings.length > 0 && (
          <details open={errors.baseURL !== undefined}>
            <summary>Another server</summary>
            <Field
              label="Base URL"
              hint={`For a test server or a proxy. Enter all keys again with it: they are sent there. Leave it empty to keep ${row.integration?.baseURL ?? `the server of ${row.title}`}.`}
              type="url"
              autocomplete="off"
              maxLength={2_048}
              value={baseURL}
              error={errors.baseURL}
              onText={setBaseURL}
            />
          </details>
        )}
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
