import { useState } from 'preact/hooks'
import type { ListedMerchant, MerchantsPage, NewMerchant, OneTimeLink } from '../../answers.ts'
import { query, send } from '../../api.ts'
import { EmailField } from '../../components/account-fields.tsx'
import { useAction, usePage } from '../../components/data.ts'
import { Dialog } from '../../components/dialog.tsx'
import { useFilters } from '../../components/filters.ts'
import { Field, Form, fieldErrors } from '../../components/form.tsx'
import { LinkToCopy } from '../../components/link-to-copy.tsx'
import { List } from '../../components/list.tsx'
import { Section } from '../../components/screen.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/values.tsx'

const MERCHANTS = '/operator/merchants'

type Opened = { what: 'create' } | { what: 'invite' | 'status'; merchant: NewMerchant & Partial<ListedMerchant> }

export function Merchants() {
  const { values, cursor, isFiltered, set, clear } = useFilters('q')
  const page = usePage<MerchantsPage>(MERCHANTS + query({ ...values, cursor }))
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const next = page.data?.nextCursor
  return (
    <Section
      title="Merchants"
      actions={
        <button type="button" class="primary" onClick={() => setOpened({ what: 'create' })}>
          New merchant
        </button>
      }
    >
      <div class="filters">
        <Field
          label="Search by name"
          type="search"
          value={values.q}
          maxLength={200}
          onChange={(event) => set({ q: event.currentTarget.value })}
        />
      </div>
      <List
        label="Merchants"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => id}
        hasTimes
        clearFilters={isFiltered ? clear : undefined}
        columns={[
          {
            name: 'Merchant',
            show: ({ name, ownerEmail }) => (
              <div>
                <div class="cell-main">{name}</div>
                <div class="cell-more">{ownerEmail ?? 'No owner yet'}</div>
              </div>
            ),
          },
          {
            name: 'Status',
            show: ({ status }) =>
              status === 'active' ? <Status tone="good">Active</Status> : <Status tone="bad">Suspended</Status>,
          },
          { name: 'Country', show: ({ country }) => country },
          { name: 'Members', show: ({ members }) => members },
          { name: 'Created', show: ({ createdAt }) => <Time at={createdAt} /> },
          {
            name: 'Actions',
            kind: 'actions',
            show: (merchant) => (
              <>
                {merchant.ownerEmail === null && (
                  <button
                    type="button"
                    aria-label={`Invite an owner of ${merchant.name}`}
                    onClick={() => setOpened({ what: 'invite', merchant })}
                  >
                    Invite owner
                  </button>
                )}
                <button
                  type="button"
                  aria-label={`${merchant.status === 'active' ? 'Suspend' : 'Resume'} ${merchant.name}`}
                  onClick={() => setOpened({ what: 'status', merchant })}
                >
                  {merchant.status === 'active' ? 'Suspend' : 'Resume'}
                </button>
              </>
            ),
          },
        ]}
        pages={{
          next: next ? () => set({ ...values, cursor: next }) : undefined,
          first: cursor ? () => set(values) : undefined,
        }}
        empty={{ title: 'No merchants', text: 'Create the first one.' }}
      />
      {opened?.what === 'create' && (
        <CreateDialog onClose={close} onCreated={(merchant) => setOpened({ what: 'invite', merchant })} />
      )}
      {opened?.what === 'invite' && <InviteDialog merchant={opened.merchant} onClose={close} />}
      {opened?.what === 'status' && <StatusDialog merchant={opened.merchant} onClose={close} />}
    </Section>
  )
}

interface CreateParts {
  onClose: () => void
  onCreated: (merchant: NewMerchant) => void
}

function CreateDialog({ onClose, onCreated }: CreateParts) {
  const [name, setName] = useState('')
  const [country, setCountry] = useState('')
  const action = useAction({
    run: () => send<NewMerchant>('POST', MERCHANTS, { name, country }),
    refresh: [MERCHANTS],
    done: 'Merchant created',
    onDone: onCreated,
  })
  const errors = fieldErrors(action.error)
  return (
    <Dialog title="New merchant" onClose={onClose}>
      <Form submit="Create" action={action} onCancel={onClose}>
        <Field
          label="Name"
          hint="Customers see it on the payment page."
          maxLength={200}
          required
          value={name}
          error={errors.name}
          onText={setName}
        />
        <Field
          label="Country"
          hint="NG, NGA or Nigeria"
          maxLength={100}
          required
          value={country}
          error={errors.country}
          onText={setCountry}
        />
      </Form>
    </Dialog>
  )
}

interface OneMerchant {
  merchant: NewMerchant & Partial<ListedMerchant>
  onClose: () => void
}

function InviteDialog({ merchant, onClose }: OneMerchant) {
  const [email, setEmail] = useState('')
  const action = useAction({
    run: () => send<OneTimeLink>('POST', `${MERCHANTS}/${merchant.id}/owner-invitation`, { email }),
  })
  return (
    <Dialog title={`Invite the owner of ${merchant.name}`} onClose={onClose}>
      {action.data ? (
        <LinkToCopy link={action.data} to={email} onClose={onClose} />
      ) : (
        <Form submit="Create invitation" action={action} onCancel={onClose}>
          <p>The owner invites all other members. You can also do this later.</p>
          <EmailField isOther value={email} error={fieldErrors(action.error).email} onText={setEmail} />
        </Form>
      )}
    </Dialog>
  )
}

function StatusDialog({ merchant, onClose }: OneMerchant) {
  const isActive = merchant.status === 'active'
  const action = useAction({
    run: () => send('PUT', `${MERCHANTS}/${merchant.id}/status`, { status: isActive ? 'suspended' : 'active' }),
    refresh: [MERCHANTS],
    done: `${merchant.name} is ${isActive ? 'suspended' : 'active'}`,
    onDone: onClose,
  })
  return (
    <Dialog title={`${isActive ? 'Suspend' : 'Resume'} ${merchant.name}?`} onClose={onClose}>
      <Form submit={isActive ? 'Suspend' : 'Resume'} isDangerous={isActive} action={action} onCancel={onClose}>
        <p>
          {isActive
            ? 'All its requests are refused and its payment pages are closed. Members can still read. Money that is under way is still recorded.'
            : 'Its requests and payment pages work again.'}{' '}
          Every process applies it within 2 seconds.
        </p>
      </Form>
    </Dialog>
  )
}
