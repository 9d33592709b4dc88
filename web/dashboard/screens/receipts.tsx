import { useState } from 'preact/hooks'
import type { Receipts } from '../answers.ts'
import { send } from '../api.ts'
import { useAction, useData } from '../components/data.ts'
import { Form, SelectField } from '../components/form.tsx'
import { ProblemPanel } from '../components/problem.tsx'
import { Section } from '../components/screen.tsx'
import { useMerchant } from '../session.ts'

const SENDS = [
  ['never', 'Never'],
  ['on_request', 'When they ask for it on the payment page'],
  ['always', 'For each payment'],
] as const

/** When customers get receipts by e-mail: in the mode of the address. */
export function ReceiptSettings() {
  const merchant = useMerchant()
  const path = merchant.api('/receipts')
  const { data, error, refetch } = useData<Receipts>(path)
  return (
    <Section
      title={`Receipts in ${merchant.mode} mode`}
      about="Customers get a receipt by e-mail in their language, and a page to print. A refund is told to who got the receipt."
    >
      {data ? (
        <Choice key={path} receipts={data} path={path} />
      ) : error ? (
        <ProblemPanel error={error} retry={refetch} />
      ) : (
        <p class="late">Loading …</p>
      )}
    </Section>
  )
}

function Choice({ receipts, path }: { receipts: Receipts; path: string }) {
  const [sends, setSends] = useState(receipts.sends)
  const action = useAction({
    run: () => send<Receipts>('PUT', path, { sends }),
    refresh: [path],
    done: 'Receipts saved',
  })
  return (
    <div class="narrow">
      <Form submit="Save receipts" action={action}>
        <SelectField
          label="Send a receipt"
          hint={receipts.hasMail ? undefined : 'The operator of this service has set no mail server (SMTP_URL).'}
          value={sends}
          options={SENDS}
          onChange={setSends}
        />
      </Form>
    </div>
  )
}
