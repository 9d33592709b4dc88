import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, newAttempt, newPaymentState, START } from '../../../test/support/payment-state.ts'
import type { Attempt } from '../../payments/state/attempt.ts'
import type { PaymentStatus } from '../../payments/state/payment.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import type { FailureCode } from '../../providers/provider.ts'
import { type Offer, screenOf, type Wish } from './screen.ts'

const OFFER: Offer = {
  methods: [
    { name: 'card', amountCharged: 1_000 },
    { name: 'bank', amountCharged: 1_000 },
  ],
  cards: [],
  asksToSave: false,
}
const NO_WISH: Wish = { method: undefined, sent: false, following: false }

function bookWith(...attempts: Partial<Attempt>[]): PaymentState {
  const state = newPaymentState()
  for (const changes of attempts) {
    state.attempts.push({ ...newAttempt(state, changes.channel ?? 'card', START), status: 'pending', ...changes })
  }
  return state
}

function stateOf(state: PaymentState, wish: Partial<Wish> = {}, seconds = 1, offer = OFFER): string {
  return screenOf(state, offer, { ...NO_WISH, ...wish }, after(seconds)).state
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

test('a payment that nobody has tried is there to choose a method for, the first unless another is wished for', () => {
  const screen = screenOf(bookWith(), OFFER, NO_WISH, START)
  assert.equal(screen.state === 'choose' && screen.chosen.name, 'card')
  const bank = screenOf(bookWith(), OFFER, { ...NO_WISH, method: 'bank' }, START)
  assert.equal(bank.state === 'choose' && bank.chosen.name, 'bank')
})

test('where nothing can take it, the page says so and offers nothing', () => {
  assert.equal(stateOf(bookWith(), {}, 1, { methods: [], cards: [], asksToSave: false }), 'unpayable')
})

test('a call to the provider is processing for 90 seconds, then nobody knows: confirming', () => {
  const state = bookWith({ status: 'processing', instructions: null })
  assert.equal(stateOf(state, {}, 89), 'processing')
  assert.equal(stateOf(state, {}, 90), 'confirming')
})

test('once the customer had something to pay with, processing means that nobody knows', () => {
  assert.equal(stateOf(bookWith({ ...link, status: 'processing' })), 'confirming')
})

test('no wish leads past an outcome that is not known: paying again could charge twice', () => {
  assert.equal(stateOf(bookWith({ ...link, status: 'processing' }), { method: 'bank' }), 'confirming')
})

test('a link that was issued goes on at the provider, until its time is over', () => {
  assert.equal(stateOf(bookWith({ ...link, instructionsExpireAt: after(60) }), {}, 59), 'provider')
  assert.equal(stateOf(bookWith({ ...link, instructionsExpireAt: after(60) }), {}, 60), 'choose')
})

test('an account awaits its transfer, is checked when the customer says that it was sent, and is partial with part of the money', () => {
  assert.equal(stateOf(bookWith(account)), 'awaiting')
  assert.equal(stateOf(bookWith(account), { sent: true }), 'checking')
  assert.equal(stateOf(bookWith({ ...account, amountReceived: 400 }), { sent: true }), 'partial')
})

test('an account whose time is over is not shown any more, unless part of the money is in it', () => {
  assert.equal(stateOf(bookWith(account), {}, 1_800), 'account_expired')
  assert.equal(stateOf(bookWith({ ...account, amountReceived: 400 }), {}, 1_800), 'partial')
})

test('a decline says why, counts those of its method, and claims that nothing was charged only where nothing was', () => {
  const declined = failure('insufficient_funds')
  const screen = screenOf(
    bookWith(declined, { ...declined, ...{ channel: 'virtual-bank-account' } }, declined),
    OFFER,
    NO_WISH,
    START,
  )
  assert.ok(screen.state === 'failed')
  assert.deepEqual(
    [screen.failure, screen.method, screen.failures, screen.notCharged],
    ['insufficient_funds', 'card', 2, true],
  )
  const taken = screenOf(bookWith({ ...failure('amount_mismatch'), amountReceived: 5 }), OFFER, NO_WISH, START)
  assert.ok(taken.state === 'failed' && !taken.notCharged)
})

test('a reversed attempt does not claim that nothing was charged: the money was taken and given back', () => {
  const reversed = { ...failure('reversed'), amountReceived: 5, amountReturned: 5 }
  const screen = screenOf(bookWith(reversed), OFFER, NO_WISH, START)
  assert.ok(screen.state === 'failed' && !screen.notCharged)
})

test('whoever stopped at the provider is back at the choice, without a word of failure', () => {
  assert.equal(stateOf(bookWith(failure('customer_cancelled'))), 'choose')
})

test('after a decline a wish leads back to the choice', () => {
  assert.equal(stateOf(bookWith(failure('card_declined')), { method: 'card' }), 'choose')
})

test('a success is news for whoever was there, and a fact for whoever opens the link again', () => {
  const state = ended('successful')
  assert.equal(stateOf(state, { following: true }), 'succeeded')
  assert.equal(stateOf(state), 'already_paid')
  assert.equal(stateOf(state, { method: 'bank', sent: true }), 'already_paid', 'no wish changes what is so')
})

test('cancelled and expired are what they are, and an expiry that nobody has noted yet is one', () => {
  assert.equal(stateOf(ended('cancelled'), { method: 'card' }), 'cancelled')
  assert.equal(stateOf(ended('expired')), 'expired')
  assert.equal(stateOf(bookWith(account), {}, 86_400), 'expired')
})

function ended(status: PaymentStatus): PaymentState {
  const state = newPaymentState()
  return { ...state, payment: { ...state.payment, status, completedAt: START } }
}
