import type { MobileNetwork } from '../../../kernel/mobile-networks.ts'
import type { FailureCode } from '../../provider.ts'

/** How a customer acts on a prompt, by the end of the phone number. */
export type Behaviour =
  /** Until somebody presses a button for them; the time may be over before. */
  | 'waits'
  | 'approves'
  | 'approves, told twice'
  | 'approves late'
  | 'gives a code'
  /** Neither does the network say that the time is over. */
  | 'never answers'
  | 'insufficient_funds'
  | 'customer_cancelled'
  | 'subscriber_unknown'

/** What the customer is asked for, and how they act. The phone number itself is not kept: nothing needs it. */
export interface Prompt {
  acts: Behaviour
  network: MobileNetwork | null
  /** Its name. */
  bank: string | null
  /** Wanted before the customer can approve. */
  code: { kind: 'otp' | 'voucher'; wrong: number } | null
}

export type Decision = { kind: 'approve'; copies: 1 | 2 } | { kind: 'fail'; code: FailureCode }

export const RIGHT_CODE = '123456'
export const WRONG_CODES_ALLOWED = 2
/** For how long a customer thinks who acts by themselves. */
const THINKS_MS = 3_000
const LATE_BY_MS = 5_000

export const TEST_NUMBERS: readonly { ends: string; acts: Behaviour; says: string }[] = [
  { ends: '789', acts: 'approves', says: 'Approves after 3 seconds' },
  { ends: '049', acts: 'insufficient_funds', says: 'Insufficient funds' },
  { ends: '039', acts: 'customer_cancelled', says: 'Refuses' },
  { ends: '029', acts: 'subscriber_unknown', says: 'Unknown number' },
  { ends: '059', acts: 'gives a code', says: `Gives a code: ${RIGHT_CODE}` },
  { ends: '069', acts: 'waits', says: 'The prompt expires' },
  { ends: '129', acts: 'never answers', says: 'No answer, ever' },
  { ends: '139', acts: 'approves late', says: 'Approves 5 seconds after the time is over' },
  { ends: '149', acts: 'approves, told twice', says: 'Approves, the notice comes twice' },
]

export function behaviourOf(phoneNumber: string | null): Behaviour {
  return TEST_NUMBERS.find(({ ends }) => phoneNumber?.endsWith(ends))?.acts ?? 'waits'
}

/** When the customer acts, or the time is over; null for never. */
export function decidesAt(acts: Behaviour, { readAt, expiresAt }: { readAt: Date; expiresAt: Date }): Date | null {
  switch (acts) {
    case 'approves':
    case 'approves, told twice':
    case 'insufficient_funds':
    case 'customer_cancelled':
    case 'subscriber_unknown':
      return new Date(readAt.getTime() + THINKS_MS)
    case 'waits':
    case 'gives a code':
      return expiresAt
    case 'approves late':
      return new Date(expiresAt.getTime() + LATE_BY_MS)
    case 'never answers':
      return null
  }
}

/** What is decided then. */
export function decisionOf(acts: Behaviour): Decision {
  switch (acts) {
    case 'approves':
    case 'approves late':
      return { kind: 'approve', copies: 1 }
    case 'approves, told twice':
      return { kind: 'approve', copies: 2 }
    case 'insufficient_funds':
    case 'customer_cancelled':
    case 'subscriber_unknown':
      return { kind: 'fail', code: acts }
    case 'waits':
    case 'gives a code':
    case 'never answers':
      return { kind: 'fail', code: 'prompt_expired' }
  }
}
