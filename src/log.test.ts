import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { addMerchant, checkout, startService } from '../test/support/service.ts'
import { newId, newShortCode } from './kernel/ids.ts'
import { createLog } from './log.ts'

function memory() {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return { lines, stream }
}

test('only fields on the allow list are logged', () => {
  const { lines, stream } = memory()
  createLog('info', stream).info(
    { requestId: 'req_1', clientSecret: 'sec_sandbox_x', headers: { a: 'sec_x' }, user: 'ada@example.com' },
    'answered',
  )
  assert.deepEqual(Object.keys(JSON.parse(lines[0] ?? '')).sort(), ['level', 'msg', 'pid', 'requestId', 'time'])
})

test('an error is logged with type, message and stack, without the values of a row', () => {
  const { lines, stream } = memory()
  const error = Object.assign(new Error('duplicate key'), {
    code: '23505',
    detail: 'Key (email)=(ada@example.com) exists',
    parameters: ['sec_x'],
  })
  createLog('info', stream).error({ err: error }, 'request failed')
  const line = JSON.parse(lines[0] ?? '')
  assert.deepEqual(Object.keys(line.err).sort(), ['code', 'message', 'stack', 'type'])
  assert.doesNotMatch(lines[0] ?? '', /ada@example\.com|sec_x/)
})

test('a whole request leaves one line with its request id, and nothing of its secrets or its customer', async () => {
  const { lines, stream } = memory()
  const { app, database } = await startService({ log: createLog('trace', stream) })
  const shop = await addMerchant(database)
  const planted = {
    user: { email: 'planted@example.com', name: 'Planted Name', phoneNumber: '+234999' },
    metadata: { note: 'planted-note' },
    reference: 'planted-reference',
  }
  const answer = await checkout(app, shop, planted, { 'idempotency-key': 'planted-key' })
  await checkout(app, shop, { ...planted, amount: 'planted-amount' })
  const all = lines.join('')
  assert.equal(lines.length, 2)
  assert.equal(JSON.parse(lines[0] ?? '').requestId, answer.headers['request-id'])
  for (const secret of [shop.clientSecret, 'planted']) assert.ok(!all.includes(secret), secret)
})

test('a line break in what is logged cannot forge a line', () => {
  const { lines, stream } = memory()
  createLog('info', stream).info({ route: '/x\n{"level":"fatal"}' }, 'answered')
  assert.equal(lines.join('').trim().split('\n').length, 1)
})

test('a page id at the beginning of a line of an error message is shortened, too', () => {
  const { lines, stream } = memory()
  const id = newId('payment', new Date(), 7)
  createLog('info', stream).error({ err: new Error(`two payments:\n${id}\t${id}`) }, 'request failed')
  assert.ok(!lines.join('').includes(id.slice(13)), lines.join(''))
})

test('a line never holds a whole page id or short code, wherever they are, and still tells which payment it is about', () => {
  const { lines, stream } = memory()
  const id = newId('payment', new Date(), 7)
  const code = newShortCode(new Date(), 7)
  const embedded = `emb_${'Ab-_'.repeat(20)}`
  const log = createLog('info', stream)
  log.info({ paymentId: id, outcome: `https://pay.test/s/${code}` }, `see https://pay.test/pay/${id}`)
  log.error({ err: new Error(`payment ${id} is gone; https://pay.test/pay/${embedded}?x=1`) }, 'request failed')
  for (const secret of [id, id.slice(13), code, embedded.slice(8)]) assert.ok(!lines.join('').includes(secret), secret)
  const [first, second] = lines.map((line) => JSON.parse(line))
  assert.equal(first.paymentId, `${id.slice(0, 12)}…`)
  assert.equal(first.msg, `see https://pay.test/pay/${id.slice(0, 12)}…`)
  assert.equal(second.err.message, `payment ${id.slice(0, 12)}… is gone; https://pay.test/pay/emb_…?x=1`)
})

test('lines about cheap refusals are sampled and counted, so that they cannot fill the disk', async () => {
  const { lines, stream } = memory()
  const { app } = await startService({ log: createLog('info', stream) })
  for (let number = 0; number < 1_500; number++) await app.inject('/healthz')
  assert.ok(lines.length >= 100 && lines.length < 1_200, `${lines.length} lines for 1500 requests`)
})
