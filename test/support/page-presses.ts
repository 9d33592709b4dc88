import { randomBytes } from 'node:crypto'
import type { PaymentId } from '../../src/kernel/ids.ts'
import type { Problem } from '../../src/kernel/problem.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import type { PageChoice } from '../../src/payments/start/pay-on-page.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import type { PaymentState } from '../../src/payments/state/payment-state.ts'
import { submitById } from './by-id.ts'

export const newKey = () => randomBytes(8).toString('hex')

export const newEmail = () => `ada.${newKey()}@example.com`

/** Customers who are signed in with the shop: only their saved cards are for the page. */
export const userOf = (email: string) => ({ email, id: email.toLowerCase() })

/** A press on our page, with a key of its own unless the test says which. */
export const press = (through: PaymentDeps, id: PaymentId, wish: Partial<PageChoice>): Promise<PaymentState> =>
  submitById(through, id, { channel: 'card', key: newKey(), ...wish })

export const codeOf = (pressed: Promise<unknown>): Promise<string> =>
  pressed.then(
    () => 'nothing thrown',
    (error: Problem) => error.code,
  )

export const lastOf = ({ attempts }: PaymentState) => attempts.at(-1) as Attempt

export const statusesOf = ({ payment, attempts }: PaymentState) => [
  payment.status,
  ...attempts.map(({ status }) => status),
]

export const linkOf = ({ instructions }: Attempt) =>
  instructions && 'link' in instructions ? instructions.link : undefined
