import { Type } from 'typebox'

/** The customer's bank account, in the bodies of refunds. */
export const BankAccount = {
  destinationAccountNumber: Type.String({
    format: 'bank-account-number',
    description:
      'The number of the customer’s bank account. It is encrypted, and deleted as soon as the provider has it.',
  }),
  destinationAccountBankCode: Type.String({
    format: 'bank-code',
    description: 'The code of the customer’s bank: see `GET /payments/{reference}/refund-account`.',
  }),
}
