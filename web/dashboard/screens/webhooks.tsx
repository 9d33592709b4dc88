import { useState } from 'preact/hooks'
import { query, send } from '../api.ts'
import { Copyable } from '../components/copy.tsx'
import { useAction, useData } from '../components/data.ts'
import { Deliveries } from '../components/deliveries.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Export } from '../components/export.tsx'
import { useFilters } from '../components/filters.ts'
import { Field, Form, fieldErrors, SelectField } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { ProblemText } from '../components/problem.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { Status } from '../components/status.tsx'
import { Time } from '../components/values.tsx'
import type { Endpoint, EndpointTest, NewEndpoint, NewSecret } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'

const STATES: readonly (readonly [string, string])[] = [
  ['', 'All'],
  ['retrying', 'Retrying'],
  ['given-up', 'Given up'],
]

export default function Webhooks() {
  const merchant = useMerchant()
  const { values, cursor, isFiltered, set, clear } = useFilters('state')
  const [isResending, setResending] = useState(false)
  const deliveries = merchant.api('/deliveries')
  return (
    <Screen title="Webhooks" about="Your server is told of every change of a payment, with a signed request.">
      <Endpoints />
      <Section
        title="Deliveries"
        actions={
          <>
            <Export list="deliveries" filters={values} />
            {merchant.may('payments') && (
              <button type="button" onClick={() => setResending(true)}>
                Resend all since …
              </button>
            )}
          </>
        }
      >
        <search class="filters">
          <SelectField label="Status" value={values.state} options={STATES} onChange={(state) => set({ state })} />
        </search>
        <Deliveries
          path={deliveries + query({ ...values, cursor })}
          showsPayment
          clearFilters={isFiltered ? clear : undefined}
          pages={(next) => ({
            first: cursor ? () => set(values) : undefined,
            next: next ? () => set({ ...values, cursor: next }) : undefined,
          })}
        />
      </Section>
      {isResending && <ResendDialog path={deliveries} onClose={() => setResending(false)} />}
    </Screen>
  )
}

type Opened =
  | { what: 'new' }
  | { what: 'change' | 'delete' | 'rotate'; endpoint: Endpoint }
  | { what: 'secret'; secret: string; until?: string }

function Endpoints() {
  const merchant = useMerchant()
  const path = merchant.api('/webhook-endpoints')
  const endpoints = useData<Endpoint[]>(path)
  const [opened, setOpened] = useState<Opened>()
  const [result, setResult] = useState<EndpointTest & { url: string }>()
  const close = () => setOpened(undefined)
  const mayChange = merchant.may('keys')
  const toggle = useAction({
    run: ({ id, enabled }: Endpoint) => send('PATCH', `${path}/${id}`, { enabled: !enabled }),
    refresh: [path, merchant.api('/deliveries')],
    done: 'Endpoint changed',
  })
  const attempt = useAction({
    run: async ({ id, url }: Endpoint) => ({ ...(await send<EndpointTest>('POST', `${path}/${id}/test`)), url }),
    onDone: setResult,
  })
  const add = mayChange && (
    <button type="button" class="primary" onClick={() => setOpened({ what: 'new' })}>
      New endpoint
    </button>
  )
  return (
    <Section title="Endpoints" actions={endpoints.data && endpoints.data.length > 0 && add}>
      <ProblemText error={toggle.error ?? attempt.error} />
      <List
        label="Webhook endpoints"
        query={{ ...endpoints, rows: endpoints.data }}
        keyOf={({ id }) => id}
        columns={[
          {
            name: 'Address',
            show: ({ url, events }) => (
              <div>
                <span class="cell-main">{url}</span>
                <div class="cell-more">{events.length === 0 ? 'All events' : events.join(', ')}</div>
              </div>
            ),
          },
          { name: 'Status', show: (endpoint) => <EndpointStatus endpoint={endpoint} /> },
          {
            name: 'Actions',
            kind: 'actions',
            show: (endpoint) =>
              mayChange && (
                <>
                  <button
                    type="button"
                    aria-label={`Test ${endpoint.url}`}
                    aria-busy={attempt.isPending}
                    onClick={() => attempt.mutate(endpoint)}
                  >
                    Test
                  </button>
                  <button
                    type="button"
                    aria-label={`Change ${endpoint.url}`}
                    onClick={() => setOpened({ what: 'change', endpoint })}
                  >
                    Change
                  </button>
                  <button
                    type="button"
                    aria-label={`${endpoint.enabled ? 'Pause' : 'Resume'} ${endpoint.url}`}
                    aria-busy={toggle.isPending}
                    onClick={() => toggle.mutate(endpoint)}
                  >
                    {endpoint.enabled ? 'Pause' : 'Resume'}
                  </button>
                  <button
                    type="button"
                    aria-label={`New secret for ${endpoint.url}`}
                    onClick={() => setOpened({ what: 'rotate', endpoint })}
                  >
                    New secret
                  </button>
                  <button
                    type="button"
                    aria-label={`Delete ${endpoint.url}`}
                    onClick={() => setOpened({ what: 'delete', endpoint })}
                  >
                    Delete
                  </button>
                </>
              ),
          },
        ]}
        empty={{
          title: 'No endpoints',
          text: 'Add the address of your server that receives events.',
          action: add,
        }}
      />
      {opened?.what === 'new' && (
        <EndpointDialog path={path} onClose={close} onCreated={({ secret }) => setOpened({ what: 'secret', secret })} />
      )}
      {opened?.what === 'change' && <EndpointDialog path={path} endpoint={opened.endpoint} onClose={close} />}
      {opened?.what === 'delete' && <DeleteDialog path={path} endpoint={opened.endpoint} onClose={close} />}
      {opened?.what === 'rotate' && (
        <RotateDialog
          path={path}
          endpoint={opened.endpoint}
          onClose={close}
          onDone={({ secret, previousValidUntil }) => setOpened({ what: 'secret', secret, until: previousValidUntil })}
        />
      )}
      {opened?.what === 'secret' && <SecretDialog secret={opened.secret} until={opened.until} onClose={close} />}
      {result && <TestDialog result={result} onClose={() => setResult(undefined)} />}
    </Section>
  )
}

function EndpointStatus({ endpoint }: { endpoint: Endpoint }) {
  const { enabled, disabledReason, failingSince } = endpoint
  if (!enabled)
    return (
      <div>
        <Status tone="neutral">Off</Status>
        <div class="cell-more">{disabledReason}</div>
      </div>
    )
  if (!failingSince) return <Status tone="good">On</Status>
  return (
    <div>
      <Status tone="attention">Failing</Status>
      <div class="cell-more">
        since <Time at={failingSince} />
      </div>
    </div>
  )
}

interface EndpointDialogParts {
  path: string
  endpoint?: Endpoint
  onClose: () => void
  onCreated?: (created: NewEndpoint) => void
}

function EndpointDialog({ path, endpoint, onClose, onCreated }: EndpointDialogParts) {
  const [url, setUrl] = useState(endpoint?.url ?? '')
  const [events, setEvents] = useState(endpoint?.events.join('\n') ?? '')
  const body = { url: url.trim(), events: events.split(/[\s,]+/).filter(Boolean) }
  const action = useAction({
    run: () =>
      endpoint ? send<NewEndpoint>('PATCH', `${path}/${endpoint.id}`, body) : send<NewEndpoint>('POST', path, body),
    refresh: [path],
    done: endpoint ? 'Endpoint changed' : 'Endpoint added',
    onDone: (created) => {
      onClose()
      onCreated?.(created)
    },
  })
  const errors = fieldErrors(action.error)
  const eventsError = Object.entries(errors).find(([name]) => name.startsWith('events'))?.[1]
  return (
    <Dialog title={endpoint ? 'Change endpoint' : 'New endpoint'} onClose={onClose}>
      <Form submit={endpoint ? 'Save' : 'Add'} action={action} onCancel={onClose}>
        <Field
          label="Address"
          type="url"
          required
          placeholder="https://shop.example/webhooks"
          value={url}
          error={errors.url}
          onText={setUrl}
        />
        <Field
          label="Events"
          hint="Names with spaces between them, such as payment.successful. Leave it empty for all."
          value={events.replaceAll('\n', ' ')}
          error={eventsError}
          onText={setEvents}
        />
      </Form>
    </Dialog>
  )
}

function DeleteDialog({ path, endpoint, onClose }: { path: string; endpoint: Endpoint; onClose: () => void }) {
  const action = useAction({
    run: () => send('DELETE', `${path}/${endpoint.id}`),
    refresh: [path],
    done: 'Endpoint deleted',
    onDone: onClose,
  })
  return (
    <Dialog title="Delete this endpoint?" onClose={onClose}>
      <Form submit="Delete" isDangerous action={action} onCancel={onClose}>
        <p>
          Nothing more is sent to <code>{endpoint.url}</code>. This cannot be undone.
        </p>
      </Form>
    </Dialog>
  )
}

interface RotateParts {
  path: string
  endpoint: Endpoint
  onClose: () => void
  onDone: (secret: NewSecret) => void
}

function RotateDialog({ path, endpoint, onClose, onDone }: RotateParts) {
  const action = useAction({ run: () => send<NewSecret>('POST', `${path}/${endpoint.id}/rotate-secret`), onDone })
  return (
    <Dialog title="Make a new secret?" onClose={onClose}>
      <Form submit="Make a new secret" action={action} onCancel={onClose}>
        <p>Both secrets sign for 24 hours, so that you can change it on your server in that time.</p>
      </Form>
    </Dialog>
  )
}

function SecretDialog({ secret, until, onClose }: { secret: string; until?: string | undefined; onClose: () => void }) {
  return (
    <Dialog title="The secret of this endpoint" onClose={onClose}>
      <p>Copy it now. It is not shown again. Your server checks signatures with it.</p>
      <Copyable label="secret" text={secret} />
      {until && (
        <p>
          The previous secret also signs until <Time at={until} />.
        </p>
      )}
      <div class="form-actions">
        <button type="button" class="primary first" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}

function TestDialog({ result, onClose }: { result: EndpointTest & { url: string }; onClose: () => void }) {
  const { delivered, status, error, tookMs, answer, url } = result
  return (
    <Dialog title="Test" onClose={onClose}>
      <p>
        <Status tone={delivered ? 'good' : 'bad'}>{error ?? `Answered ${status} in ${tookMs} ms`}</Status>
      </p>
      <p>
        A signed <code>endpoint.test</code> was sent to <code>{url}</code>.
      </p>
      {answer && <pre class="excerpt">{answer}</pre>}
      <div class="form-actions">
        <button type="button" class="primary first" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}

function ResendDialog({ path, onClose }: { path: string; onClose: () => void }) {
  const merchant = useMerchant()
  const [since, setSince] = useState('')
  const action = useAction({
    run: () =>
      send<{ deliveries: number }>('POST', merchant.api('/events/redeliver'), { from: new Date(since).toISOString() }),
    refresh: [path],
    done: 'The deliveries are sent again',
    onDone: onClose,
  })
  return (
    <Dialog title="Resend all since" onClose={onClose}>
      <Form submit="Resend" action={action} onCancel={onClose}>
        <p>Sends again every delivery of that time that was given up. Your server may get an event twice.</p>
        <Field label="Since" type="datetime-local" required value={since} onText={setSince} />
      </Form>
    </Dialog>
  )
}
