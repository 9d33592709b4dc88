import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { query } from '../api.ts'
import { usePage } from '../components/data.ts'
import { useFilters } from '../components/filters.ts'
import { Field } from '../components/form.tsx'
import { List } from '../components/list.tsx'
import { Screen } from '../components/screen.tsx'
import { Time } from '../components/values.tsx'
import type { CustomerRow } from '../money-answers.ts'
import type { Page } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { CustomerScreen } from './customer.tsx'

/** All customers, or the one that the address names. */
export default function Customers() {
  const { values, cursor, set } = useFilters('email')
  if (values.email)
    return <CustomerScreen key={values.email} email={values.email} onErased={() => set({ email: '' })} />
  return <AllCustomers cursor={cursor} set={set} />
}

interface ListParts {
  cursor: string | undefined
  set: (changes: { email?: string; cursor?: string }) => void
}

function AllCustomers({ cursor, set }: ListParts) {
  const merchant = useMerchant()
  const [text, setText] = useState('')
  const page = usePage<Page<CustomerRow>>(merchant.api('/customers') + query({ cursor }))
  const next = page.data?.nextCursor
  return (
    <Screen title="Customers" about="Everyone who was asked for a payment, by e-mail address.">
      <search class="filters">
        <form
          class="search"
          onSubmit={(event) => {
            event.preventDefault()
            set({ email: text.trim() })
          }}
        >
          <Field
            label="E-mail address"
            type="email"
            required
            hint="The whole address. Press Enter to open the customer."
            placeholder="ada@example.com"
            value={text}
            maxLength={254}
            onText={setText}
          />
        </form>
      </search>
      <List
        label="Customers"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ lastPayment }) => lastPayment}
        hasTimes
        columns={[
          {
            name: 'Customer',
            show: ({ email }) => (
              <Link class="cell-main" href={merchant.path(`/customers${query({ email })}`)}>
                {email}
              </Link>
            ),
          },
          { name: 'Name', show: ({ name }) => name ?? <span class="soft">Not given</span> },
          {
            name: 'Last payment',
            show: ({ lastPayment, lastAt }) => (
              <Link href={merchant.path(`/payments/${lastPayment}`)}>
                <Time at={lastAt} />
              </Link>
            ),
          },
        ]}
        pages={{
          first: cursor ? () => set({}) : undefined,
          next: next ? () => set({ cursor: next }) : undefined,
        }}
        empty={{ title: 'No customers yet', text: 'They appear here with their first payment.' }}
      />
    </Screen>
  )
}
