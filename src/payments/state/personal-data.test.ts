import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eraserOf } from './personal-data.ts'

const eraser = eraserOf(
  {
    emails: ['Ada@Example.com'],
    names: ['Data', 'Ada (Obi)'],
    phoneNumbers: ['+234 801'],
    userIds: ['user.1', '42'],
    answers: ['Table'],
  },
  'erased-1@customer.invalid',
)

test('texts lose every form of the personal data, and nothing else', () => {
  const texts: [string, string][] = [
    ['Paid by ADA@example.com.', 'Paid by erased.'],
    ['https://shop.example/?e=ada%40example.com&n=Ada+%28Obi%29&x=1', 'https://shop.example/?e=erased&n=erased&x=1'],
    ['call +234 801, not +234 8012', 'call erased, not +234 8012'],
    ['Ada (Obi) and Adaeze', 'erased and Adaeze'],
    ['user.1 is not user21, for 42 of them', 'erased is not user21, for 42 of them'],
    ['Database', 'Database'],
  ]
  for (const [before, after] of texts) assert.equal(eraser.text(before), after)
})

test('a number is erased with the masks of providers', () => {
  const { text, json } = eraserOf(
    { emails: [], names: [], phoneNumbers: ['+233551234987', '0551234987'], userIds: [], answers: [] },
    'erased-1@customer.invalid',
  )
  for (const masked of ['055****987', '+233 55XXXX4987', '*****87', '+23355•••••', '05512#####', '+233•••••4987'])
    assert.equal(text(`A code was sent to ${masked}.`).replace('+233 ', ''), 'A code was sent to erased.', masked)
  for (const other of ['024****111', 'Dial *110# now', 'GHS 87.00', '**'])
    assert.equal(text(`Now: ${other}.`), `Now: ${other}.`)
  const asks = { kind: 'prompt', again: 'Sent to 055***4987', expiresAt: '2026' }
  assert.deepEqual(json(asks), { ...asks, again: 'Sent to erased' })
})

test('JSON keeps its ids, references and amounts, even when a name is one of them, but not the names of metadata', () => {
  const before = {
    id: 'evt_1',
    data: {
      payment: {
        reference: 'Data',
        status: 'successful',
        amount: 5,
        user: { id: 'user.1', email: 'ada@example.com', phoneNumber: '+234 801', name: 'Data' },
        metadata: { due: 'for Data', Table: 'Twelve', 'by ada@example.com': '1', 'by ADA@example.com': '2' },
        attempts: [{ reference: 'Data-1', failure: { code: 'data', message: 'Declined: Ada (Obi)' } }],
      },
    },
  }
  assert.deepEqual(eraser.json(before), {
    id: 'evt_1',
    data: {
      payment: {
        reference: 'Data',
        status: 'successful',
        amount: 5,
        user: { id: null, email: 'erased-1@customer.invalid', phoneNumber: null, name: null },
        metadata: { due: 'for erased', Table: 'erased', 'by erased': '1', 'by erased-2': '2' },
        attempts: [{ reference: 'Data-1', failure: { code: 'data', message: 'Declined: erased' } }],
      },
    },
  })
  assert.deepEqual([eraser.json(null), eraser.json([1, 'Data'])], [null, [1, 'Data']])
})
