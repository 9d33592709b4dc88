import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, newAttempt, newPaymentState, START } from '../../../test/support/payment-state.ts'
import type { Attempt } from '../../payments/state/attempt.ts'
import type { PaymentStatus } from '../../payments/state/payment.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import type { FailureCode } from '../../providers/provider.ts'
import { type MethodChoices, screenOf, type VisitorInput } from './screen.ts'

const CHOICES: MethodChoices = {
  methods: [
    { channel: 'card', amountCharged: 1_000 },
    { channel: 'virtual-bank-account', amountCharged: 1_000 },
  ],
  cards: [],
  asksToSave: false,
}
const NO_INPUT: VisitorInput = { channel: undefined, sent: false, following: false }

function stateWith(...attempts: Partial<Attempt>[]): PaymentState {
  const state = newPaymentState()
  for (const changes of attempts) {
    state.attempts.push({ ...newAttempt(state, changes.channel ?? 'card', START), status: 'pending', ...changes })
  }
  return state
}

function stateOf(state: PaymentState, input: Partial<VisitorInput> = {}, seconds = 1, choices = CHOICES): string {
  return screenOf(state, choices, { ...NO_INPUT, ...input }, after(seconds)).state
}

const link: Partial<Attempt> = { instructions: { kind: 'link', link: 'https://x.example/', publicKey: 'k' } }
const account: Partial<Attempt> = {
  channel: 'virtual-bank-account',
  instructions: { kind: 'account', accountName: 'A', accountNumber: '1', bankName: 'B', amountToTransfer: 1_000 },
  instructionsExpireAt: after(1_800),
}
const failure = (code: FailureCode): Partial<Attempt> => ({
  status: 'failed',
  failure: { code, message: 'no', providerCode: null },
})

test('a payment without attempts shows the method choice, with the first or the requested method chosen', () => {
  const screen = screenOf(stateWith(), CHOICES, NO_INPUT, START)
  assert.equal(screen.state === 'choose' && screen.chosen.channel, 'card')
  const bank = screenOf(stateWith(), CHOICES, { ...NO_INPUT, channel: 'virtual-bank-account' }, START)
  assert.equal(bank.state === 'choose' && bank.chosen.channel, 'virtual-bank-account')
})

test('a payment without any usable method is unpayable', () => {
  assert.equal(stateOf(stateWith(), {}, 1, { methods: [], cards: [], asksToSave: false }), 'unpayable')
})

test('a provider call is processing for 90 seconds, then confirming', () => {
  const state = stateWith({ status: 'processing', instructions: null })
  assert.equal(stateOf(state, {}, 89), 'processing')
  assert.equal(stateOf(state, {}, 90), 'confirming')
})

test('a processing attempt with instructions is confirming', () => {
  assert.equal(stateOf(stateWith({ ...link, status: 'processing' })), 'confirming')
})

test('no visitor input leaves the confirming state: paying again could charge twice', () => {
  assert.equal(stateOf(stateWith({ ...link, status: 'processing' }), { channel: 'virtual-bank-account' }), 'confirming')
})

test('an issued link continues at the provider until it expires', () => {
  assert.equal(stateOf(stateWith({ ...link, instructionsExpireAt: after(60) }), {}, 59), 'provider')
  assert.equal(stateOf(stateWith({ ...link, instructionsExpireAt: after(60) }), {}, 60), 'choose')
})

test('an account is awaiting its transfer, checking after the customer sent it, and partial with part of the money', () => {
  assert.equal(stateOf(stateWith(account)), 'awaiting')
  assert.equal(stateOf(stateWith(account), { sent: true }), 'checking')
  assert.equal(stateOf(stateWith({ ...account, amountReceived: 400 }), { sent: true }), 'partial')
})

test('an expired account is not shown, unless part of the money arrived', () => {
  assert.equal(stateOf(stateWith(account), {}, 1_800), 'account_expired')
  assert.equal(stateOf(stateWith({ ...account, amountReceived: 400 }), {}, 1_800), 'partial')
})

test('a decline has its reason and the failures of its method, and says not charged only if nothing was charged', () => {
  const declined = failure('insufficient_funds')
  const screen = screenOf(
    stateWith(declined, { ...declined, ...{ channel: 'virtual-bank-account' } }, declined),
    CHOICES,
    NO_INPUT,
    START,
  )
  assert.ok(screen.state === 'failed')
  assert.deepEqual(
    [screen.failure, screen.channel, screen.failures, screen.notCharged],
    ['insufficient_funds', 'card', 2, true],
  )
  const taken = screenOf(stateWith({ ...failure('amount_mismatch'), amountReceived: 5 }), CHOICES, NO_INPUT, START)
  assert.ok(taken.state === 'failed' && !taken.notCharged)
})

test('money in another currency is not in amountReceived, and the page still does not say not charged', () => {
  const screen = screenOf(stateWith(failure('amount_mismatch')), CHOICES, NO_INPUT, START)
  assert.ok(screen.state === 'failed' && !screen.notCharged)
})

test('a reversed attempt does not say not charged', () => {
  const reversed = { ...failure('reversed'), amountReceived: 5, amountReturned: 5 }
  const screen = screenOf(stateWith(reversed), CHOICES, NO_INPUT, START)
  assert.ok(screen.state === 'failed' && !screen.notCharged)
})

test('a customer who cancelled at the provider sees the method choice without a failure', () => {
  assert.equal(stateOf(stateWith(failure('customer_cancelled'))), 'choose')
})

test('after a decline a requested method shows the method choice', () => {
  assert.equal(stateOf(stateWith(failure('card_declined')), { channel: 'card' }), 'choose')
})

test('a success is succeeded on an open page and already_paid on a page opened later', () => {
  const state = ended('successful')
  assert.equal(stateOf(state, { following: true }), 'succeeded')
  assert.equal(stateOf(state), 'already_paid')
  assert.equal(
    stateOf(state, { channel: 'virtual-bank-account', sent: true }),
    'already_paid',
    'visitor input does not change the outcome',
  )
})

test('cancelled and expired payments have their states, also before the expiry is stored', () => {
  assert.equal(stateOf(ended('cancelled'), { channel: 'card' }), 'cancelled')
  assert.equal(stateOf(ended('expired')), 'expired')
  assert.equal(stateOf(stateWith(account), {}, 86_400), 'expired')
})

function ended(status: PaymentStatus): PaymentState {
  const state = newPaymentState()
  return { ...state, payment: { ...state.payment, status, completedAt: START } }
}

const asked: Partial<Attempt> = {
  channel: 'mobile-money',
  input: { phoneNumber: '+233551234987', network: 'mtn' },
  instructions: { kind: 'prompt' },
  instructionsExpireAt: after(120),
}

test('what the customer does outside the page has a screen each, until its time is over', () => {
  const screens = [
    [{ kind: 'prompt' }, 'prompt', 'waiting'],
    [{ kind: 'code wanted', code: 'otp', message: 'm' }, 'code', 'choose'],
    [{ kind: 'pay to', number: '1', account: '2' }, 'pay_to', 'waiting'],
    [{ kind: 'dial', code: '*1#', bankName: null }, 'dial', 'waiting'],
    [{ kind: 'qr', text: 't' }, 'qr', 'waiting'],
  ] as const
  for (const [instructions, during, afterwards] of screens) {
    assert.equal(stateOf(stateWith({ ...asked, instructions }), {}, 119), during)
    assert.equal(stateOf(stateWith({ ...asked, instructions }), {}, 120), afterwards)
  }
})

test('a part of the money keeps the number to pay to', () => {
  const partly = { ...asked, instructions: { kind: 'pay to', number: '1', account: '2' } as const, amountReceived: 400 }
  assert.equal(stateOf(stateWith(partly), {}, 121), 'pay_to')
})

test('before a second payment the page tells of a request that can still be approved', () => {
  const again = screenOf(stateWith(asked), CHOICES, { ...NO_INPUT, channel: 'card' }, after(130))
  assert.deepEqual(again.state === 'choose' && again.earlier, { kind: 'prompt', phoneNumber: '+233551234987' })
  const failed = screenOf(stateWith(asked, failure('card_declined')), CHOICES, NO_INPUT, after(1))
  assert.equal(failed.state === 'failed' && failed.earlier?.kind, 'prompt')
  const refused = screenOf(stateWith({ ...asked, ...failure('other') }), CHOICES, NO_INPUT, after(1))
  assert.equal(refused.state === 'failed' && refused.earlier, undefined)
})

test('a request that was refused on the phone is a failure with words; a card page that was left is none', () => {
  assert.equal(stateOf(stateWith({ ...asked, ...failure('customer_cancelled') })), 'failed')
  assert.equal(stateOf(stateWith(failure('customer_cancelled'))), 'choose')
})

test('mobile money by a page of the provider: the phone asks after it, so the page tells of it as of a prompt', () => {
  const page = { kind: 'link', link: 'https://pay.example/1', publicKey: 'k' } as const
  const byPage = { channel: 'mobile-money', instructions: page, input: { phoneNumber: '+233551234987' } } as const
  const isOver = { ...byPage, instructionsExpireAt: START }
  assert.equal(stateOf(stateWith(isOver)), 'waiting')
  assert.equal(stateOf(stateWith({ ...isOver, channel: 'card' })), 'choose')
  const again = screenOf(stateWith(byPage), CHOICES, { ...NO_INPUT, channel: 'card' }, after(1))
  assert.ok(again.state === 'choose' && again.earlier?.kind === 'prompt')
})

test('a cancelled payment is "not charged" only if nothing that was handed out can still take money', () => {
  const cancelled = (attempt: Partial<Attempt>) => {
    const state = stateWith({ status: 'abandoned', ...attempt })
    const screen = screenOf(
      { ...state, payment: { ...state.payment, status: 'cancelled' } },
      CHOICES,
      NO_INPUT,
      after(1),
    )
    return screen.state === 'cancelled' && screen.mayBePaid
  }
  assert.equal(cancelled({ instructions: { kind: 'prompt' } }), true)
  assert.equal(
    cancelled({ instructions: null, channel: 'mobile-money', input: { phoneNumber: '+233551234987' } }),
    true,
  )
  assert.equal(cancelled({ status: 'failed', instructions: { kind: 'prompt' } }), false)
  assert.equal(cancelled({ instructions: null }), false)
})
