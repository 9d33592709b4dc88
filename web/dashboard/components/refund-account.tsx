import { useState } from 'preact/hooks'
import { query, send } from '../api.ts'
import type { Refund, RefundAccount } from '../payment-answers.ts'
import { useMerchant } from '../session.ts'
import { useAction, useData } from './data.ts'
import { Dialog } from './dialog.tsx'
import { Field, Form, fieldErrors, SelectField } from './form.tsx'

export interface AccountFields {
  destinationAccountNumber: string
  destinationAccountBankCode: string
}

/** The customer's bank account, as a form has it. */
export function useAccountFields() {
  const [account, setAccount] = useState<AccountFields>({
    destinationAccountNumber: '',
    destinationAccountBankCode: '',
  })
  const set = (changes: Partial<AccountFields>) => setAccount((now) => ({ ...now, ...changes }))
  return { account, set }
}

interface AccountParts extends ReturnType<typeof useAccountFields> {
  /** The path of the payment. */
  path: string
  /** The attempt whose money goes back; default: the one that paid. */
  attempt?: string | undefined
  error: Error | null
  /** Only if a refund of the payment needs an account. */
  ifNeeded?: boolean
  onChange?: () => void
}

/** Asks for the customer's bank account: the bank from the provider's list, or else its code. */
export function BankAccountFields({ path, attempt, account, set, error, ifNeeded, onChange }: AccountParts) {
  const { data } = useData<RefundAccount>(`${path}/refund-account${query({ attempt })}`)
  if (!data || (ifNeeded && !data.needed)) return null
  const errors = fieldErrors(error)
  const change = (changes: Partial<AccountFields>) => {
    set(changes)
    onChange?.()
  }
  const code = account.destinationAccountBankCode
  const banks: [string, string][] = data.banks.map((bank) => [bank.code, bank.name])
  return (
    <>
      <Field
        label="Customer’s account number"
        hint="The provider cannot send this money back to where it came from. Ask the customer for a bank account."
        inputMode="numeric"
        autocomplete="off"
        value={account.destinationAccountNumber}
        error={errors.destinationAccountNumber}
        onText={(text) => change({ destinationAccountNumber: text.trim() })}
      />
      {banks.length > 0 ? (
        <SelectField
          label="Bank"
          value={code}
          options={[['', 'Choose the bank'], ...banks]}
          onChange={(chosen) => change({ destinationAccountBankCode: chosen })}
        />
      ) : (
        <Field
          label="Bank code"
          hint="The provider’s code of the bank."
          autocomplete="off"
          value={code}
          error={errors.destinationAccountBankCode}
          onText={(text) => change({ destinationAccountBankCode: text.trim() })}
        />
      )}
    </>
  )
}

/** The provider waits for the customer's bank account. */
export const needsAccount = ({ status, needsReview }: Refund) =>
  status === 'pending' && (needsReview?.startsWith('refund_needs_account') ?? false)

export function RetryRefundDialog({ refund, path, onClose }: { refund: Refund; path: string; onClose: () => void }) {
  const merchant = useMerchant()
  const fields = useAccountFields()
  const action = useAction({
    run: () => send<Refund>('POST', merchant.api(`/refunds/${refund.id}/retry`), fields.account),
    refresh: [path, `${path}/timeline`, merchant.api('/refunds')],
    done: 'The account was sent to the provider',
    onDone: onClose,
  })
  return (
    <Dialog title="Give the provider a bank account" onClose={onClose}>
      <Form submit="Send the account" isDangerous action={action} onCancel={onClose}>
        <BankAccountFields path={path} {...fields} error={action.error} />
      </Form>
    </Dialog>
  )
}
