import type { Money } from './money.ts'

/** What a customer dials to have the bank make a transfer. */
export interface DialCode {
  /** Its code at the Central Bank of Nigeria. */
  bank: string
  bankName: string
  code: string
}

/**
 * A transfer to another bank, as the customer's bank wants it dialled: `A` is the amount, `N` the account number. As in
 * `ussdTemplate` of Monnify's list of banks. Before it asks for the PIN, the bank shows what it is going to send, and
 * to whom.
 */
const TEMPLATES: readonly [bank: string, bankName: string, template: string][] = [
  ['044', 'Access Bank', '*901*A*N#'],
  ['214', 'FCMB', '*329*A*N#'],
  ['070', 'Fidelity Bank', '*770*N*A#'],
  ['011', 'First Bank', '*894*A*N#'],
  ['058', 'Guaranty Trust Bank', '*737*2*A*N#'],
  ['301', 'Jaiz Bank', '*389*301*N*A#'],
  ['082', 'Keystone Bank', '*7111*A*N#'],
  ['076', 'Polaris Bank', '*833*A*N#'],
  ['221', 'Stanbic IBTC Bank', '*909*22*A*N#'],
  ['232', 'Sterling Bank', '*822*5*A*N#'],
  ['032', 'Union Bank', '*826*2*A*N#'],
  ['033', 'United Bank for Africa', '*919*4*N*A#'],
  ['215', 'Unity Bank', '*7799*2*N*A#'],
  ['035', 'Wema Bank', '*945*N*A#'],
  ['057', 'Zenith Bank', '*966*A*N#'],
]

/**
 * For a transfer of this amount to this account, by the bank of the customer. None for a currency without such codes,
 * for an amount with kobo, which cannot be dialled, and for a transfer that needs a narration.
 */
export function dialCodesFor(sum: Money, account: { accountNumber: string; narration?: string }): DialCode[] {
  const { accountNumber, narration } = account
  if (sum.currency !== 'NGN' || sum.amount <= 0 || sum.amount % 100 !== 0) return []
  if (narration !== undefined || !/^\d{10}$/.test(accountNumber)) return []
  return TEMPLATES.map(([bank, bankName, template]) => ({
    ...{ bank, bankName },
    code: template.replace('A', `${sum.amount / 100}`).replace('N', accountNumber),
  }))
}
