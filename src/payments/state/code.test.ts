import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  after,
  first,
  newAttempt,
  newPaymentState,
  pending,
  START,
  settleWith,
} from '../../../test/support/payment-state.ts'
import type { Attempt } from './attempt.ts'
import { addAttempt, attemptForCode, giveCode, storeInstructions, wantCodeAgain } from './payment-state.ts'

function waitingForCode() {
  const before = newPaymentState()
  const begun = addAttempt(before, newAttempt(before, 'mobile-money', START)).state
  const { id } = begun.attempts[0] as Attempt
  const instructions = { kind: 'code wanted', code: 'otp', message: 'm' } as const
  const issued = { instructions, instructionsExpireAt: after(900), providerReference: 'p' }
  return storeInstructions(begun, id, issued, START).state
}

test('codes are counted, except one that was never sent', () => {
  const state = waitingForCode()
  const codesAfter = (neverSent: boolean) => {
    const given = giveCode(state, attemptForCode(state, START), START).state
    const { id } = first({ state: given })
    const { instructions } = first(wantCodeAgain(given, id, { neverSent, now: START }))
    return instructions
  }
  const asked = { kind: 'code wanted', code: 'otp', message: 'm' }
  assert.deepEqual(codesAfter(false), { ...asked, codesGiven: 1 })
  assert.deepEqual(codesAfter(true), { ...asked, codesGiven: 0 })
})

test('"pending" frees a code that is on its way after three minutes, and never asks for it again', () => {
  const state = waitingForCode()
  const given = giveCode(state, attemptForCode(state, START), START).state
  const attempt = first({ state: given })
  assert.equal(first(settleWith(given, attempt, pending(), { now: after(179) })).status, 'processing')
  const freed = first(settleWith(given, attempt, pending(), { now: after(180) }))
  assert.deepEqual(
    [freed.status, freed.instructions, freed.instructionsExpireAt],
    ['pending', { kind: 'prompt', isUnsure: true }, after(180)],
  )
})

test('an attempt that became processing without a code asks for the code again', () => {
  const state = waitingForCode()
  const processing = settleWith(state, first({ state }), { kind: 'processing' }).state
  const freed = first(settleWith(processing, first({ state: processing }), pending()))
  assert.deepEqual([freed.status, freed.instructions?.kind], ['pending', 'code wanted'])
})
