import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { send } from '../api.ts'
import type { Delivery, EventWithDeliveries, Page } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { useAction, useData, usePage } from './data.ts'
import { Dialog } from './dialog.tsx'
import { type Column, List } from './list.tsx'
import { ProblemPanel, ProblemText } from './problem.tsx'
import { Status, type Tone } from './status.tsx'
import { Time } from './values.tsx'

const STATES: Record<Delivery['state'], [Tone, string]> = {
  waiting: ['waiting', 'Waiting'],
  delivered: ['good', 'Delivered'],
  exhausted: ['bad', 'Given up'],
  disabled: ['neutral', 'Endpoint is off'],
}

interface Parts {
  /** The endpoint with the deliveries, with its filters. */
  path: string
  /** In the list of all payments each row names its payment. */
  showsPayment?: boolean
  pages?: (next: string | null | undefined) => Parameters<typeof List>[0]['pages']
  clearFilters?: (() => void) | undefined
}

/** Webhook deliveries; each opens with its body and the answers to its tries. */
export function Deliveries({ path, showsPayment, pages, clearFilters }: Parts) {
  const merchant = useMerchant()
  const page = usePage<Page<Delivery>>(path)
  const [opened, setOpened] = useState<Delivery>()
  const payment: Column<Delivery> = {
    name: 'Payment',
    show: (row) => row.payment && <Link href={merchant.path(`/payments/${row.payment}`)}>Open</Link>,
  }
  const shownPages = pages?.(page.data?.nextCursor)
  return (
    <>
      <List
        label="Webhook deliveries"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        hasTimes
        clearFilters={clearFilters}
        {...(shownPages && { pages: shownPages })}
        columns={[
          {
            name: 'Event',
            show: ({ type, url }) => (
              <div>
                <span class="cell-main">{type}</span>
                <div class="cell-more">{url}</div>
              </div>
            ),
          },
          {
            name: 'Status',
            show: (row) => {
              const [tone, word] =
                row.state === 'waiting' && row.tries > 0 ? (['attention', 'Retrying'] as const) : STATES[row.state]
              return (
                <div>
                  <Status tone={tone}>{word}</Status>
                  {row.state !== 'delivered' && (
                    <div class="cell-more">{row.lastError ?? statusText(row.lastStatus)}</div>
                  )}
                </div>
              )
            },
          },
          ...(showsPayment ? [payment] : []),
          { name: 'Created', show: ({ createdAt }) => <Time at={createdAt} /> },
          {
            name: 'Actions',
            kind: 'actions',
            show: (row) => (
              <button type="button" aria-label={`Show delivery of ${row.type}`} onClick={() => setOpened(row)}>
                Show
              </button>
            ),
          },
        ]}
        empty={{ title: 'No deliveries', text: 'Events are sent to your webhook endpoints when a payment changes.' }}
      />
      {opened && <DeliveryDialog delivery={opened} listPath={path} onClose={() => setOpened(undefined)} />}
    </>
  )
}

function statusText(status: number | null): string {
  return status === null ? '' : `Answered ${status}`
}

function DeliveryDialog({
  delivery,
  listPath,
  onClose,
}: {
  delivery: Delivery
  listPath: string
  onClose: () => void
}) {
  const merchant = useMerchant()
  const path = merchant.api(`/events/${delivery.event}`)
  const { data, error, refetch } = useData<EventWithDeliveries>(path)
  const resend = useAction({
    run: () => send('POST', `${path}/redeliver`),
    refresh: [path, listPath],
    done: 'The event is sent again',
    onDone: onClose,
  })
  const tries = data?.deliveries.find(({ id }) => id === delivery.id)?.tries ?? []
  return (
    <Dialog title={delivery.type} onClose={onClose}>
      {!data && (error ? <ProblemPanel error={error} retry={refetch} /> : <p class="late">Loading …</p>)}
      <h3>Tries</h3>
      <ul class="rows">
        {[...tries].reverse().map(({ number, at, status, error: why, tookMs, answer }) => (
          <li key={number}>
            <div>
              <Status tone={status !== null && status < 300 ? 'good' : 'bad'}>
                {why ?? statusText(status)} · {tookMs} ms
              </Status>
              {answer && <pre class="excerpt">{answer}</pre>}
            </div>
            <Time at={at} />
          </li>
        ))}
        {tries.length === 0 && <li>Not tried yet.</li>}
      </ul>
      <h3>Body</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard */}
      <pre class="excerpt" tabIndex={0}>
        {data ? JSON.stringify(data.event, null, 2) : ''}
      </pre>
      <ProblemText error={resend.error} />
      {merchant.may('payments') && (
        <div class="form-actions">
          <button type="button" class="primary first" aria-busy={resend.isPending} onClick={() => resend.mutate()}>
            Send again
          </button>
        </div>
      )}
    </Dialog>
  )
}
