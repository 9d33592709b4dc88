import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { unavailable } from '../database/pool.ts'
import { systemClock } from '../kernel/clock.ts'
import { newId } from '../kernel/ids.ts'
import { secretBox } from '../kernel/secret-box.ts'
import type { DueDelivery } from './claim-store.ts'
import { deliverySender } from './send-delivery.ts'

const AT = new Date('2026-01-01')
/** The first delivery of a merchant: it has no secret yet. */
const FIRST: DueDelivery = {
  ...{ uuid: '', place: 1, mode: 'sandbox', endpointId: null, url: 'https://shop.example/', destination: 'shop' },
  ...{
    eventId: newId('event', AT, 1),
    merchantId: newId('merchant', AT),
    tries: 0,
    triesBefore: 0,
    dueAt: '',
    body: '{}',
  },
  ...{ isEnabled: true, sealedSecret: null, sealedPreviousSecret: null },
}

function senderWith(failure: Error) {
  const fails = () => Promise.reject(failure)
  return deliverySender({
    database: { rows: fails, row: fails, notify: () => {} },
    clock: systemClock,
    log: pino({ level: 'silent' }),
    secrets: secretBox(Buffer.alloc(32)),
    http: { post: () => assert.fail('it cannot be signed') },
    allowPrivate: () => false,
  })
}

test('D1: a webhook that could not be signed because the database was away is no failed try', async () => {
  assert.equal(await senderWith(unavailable(new Error('connection refused')))(FIRST), undefined)
})

test('D1: a webhook that can never be signed is a failed try', async () => {
  const answer = await senderWith(new Error('no such column'))(FIRST)
  assert.equal(answer?.kind, 'failed')
})
