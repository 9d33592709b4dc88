import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import { type Signing, signedHeaders } from '../../../test/fakes/pawapay/signature.ts'
import type { RawNotice } from '../provider.ts'
import { uuidOf } from './mapping.ts'
import { hintOf, judge, readingOf } from './notices.ts'

const PUBLIC_URL = 'https://pay.shop.example/notices/pawapay/live/mer_1'
const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const KEYID = 'HTTP_EC_P256_KEY:1'
const reference = 'a'.repeat(32)
const DEPOSIT = {
  ...{ depositId: uuidOf(reference), status: 'COMPLETED', amount: '100.00', currency: 'RWF', country: 'RWA' },
  payer: { type: 'MMO', accountDetails: { phoneNumber: '250783456789', provider: 'MTN_MOMO_RWA' } },
  ...{ customerMessage: 'Note of 4 to 22 chars', clientReferenceId: reference, created: '2024-05-02T16:45:51Z' },
  ...{ providerTransactionId: 'ABC123', metadata: { orderReference: reference } },
}
const bodyOf = (said: object) => Buffer.from(JSON.stringify(said))
const BODY = bodyOf(DEPOSIT)
const keyOf = (id: string): KeyObject | undefined => (id === KEYID ? ec.publicKey : undefined)

/** As it comes in, at the address that we have told them, by our clock. */
function signed(changes: Partial<Signing> = {}, offSeconds = 0): RawNotice {
  const at = new Date('2026-01-01T12:00:00.500Z')
  const headers = signedHeaders(BODY, { key: ec.privateKey, keyid: KEYID, url: PUBLIC_URL, at, ...changes })
  return { headers, body: BODY, receivedAt: new Date(at.getTime() + offSeconds * 1_000), url: PUBLIC_URL }
}

const isForged = (notice: RawNotice, keys: Parameters<typeof judge>[1] = keyOf) =>
  typeof judge(notice, keys) === 'object'

for (const form of ['der', 'ieee-p1363'] as const)
  for (const digest of ['sha-256', 'sha-512'] as const) {
    test(`a signature in ${form} over a ${digest} is genuine, and each changed part makes it forged`, () => {
      const notice = signed({ form, digest })
      const bytes = Buffer.from(notice.headers.signature?.slice(8, -1) ?? '', 'base64').length
      assert.ok(form === 'der' ? bytes > 64 : bytes === 64, 'the form is what it says')
      assert.equal(judge(notice, keyOf), 'genuine')
      assert.ok(isForged({ ...notice, body: Buffer.concat([BODY, Buffer.from(' ')]) }))
      for (const name of Object.keys(notice.headers)) {
        const { [name]: value = '', ...others } = notice.headers
        assert.ok(isForged({ ...notice, headers: others }), `without ${name}`)
        assert.ok(isForged({ ...notice, headers: { ...others, [name]: value.replace(/[a-z0-5]/, 'z') } }), name)
      }
    })
  }

for (const [alg, pair, form] of [
  ['ecdsa-p384-sha384', generateKeyPairSync('ec', { namedCurve: 'secp384r1' }), 'der'],
  ['ecdsa-p384-sha384', generateKeyPairSync('ec', { namedCurve: 'secp384r1' }), 'ieee-p1363'],
  ['rsa-v1_5-sha256', generateKeyPairSync('rsa', { modulusLength: 2_048 }), undefined],
  ['rsa-pss-sha512', generateKeyPairSync('rsa', { modulusLength: 2_048 }), undefined],
] as const) {
  test(`${alg} ${form ?? ''} is genuine with a key of its kind alone`, () => {
    const notice = signed({ alg, key: pair.privateKey, ...(form && { form }) })
    assert.equal(
      judge(notice, () => pair.publicKey),
      'genuine',
    )
    assert.ok(isForged(notice), 'another kind of key')
    const relabelled = notice.headers['signature-input']?.replace(alg, 'ecdsa-p256-sha256')
    assert.ok(
      isForged({ ...notice, headers: { ...notice.headers, 'signature-input': relabelled } }, () => pair.publicKey),
    )
  })
}

test('behind a proxy the public address counts, not the one that the request names', () => {
  const headers = { ...signed().headers, host: '10.0.0.7:3000', 'x-forwarded-host': 'evil.example' }
  assert.equal(judge({ ...signed(), headers }, keyOf), 'genuine')
  // What pawaPay signed for another of its merchants, at another address or path, does not count here.
  for (const url of [
    'http://10.0.0.7:3000/notices/pawapay/live/mer_1',
    'https://other.example/notices/pawapay/live/mer_1',
    'https://pay.shop.example/notices/pawapay/live/mer_2',
    'https://pay.shop.example/notices/pawapay/sandbox/mer_1',
  ])
    assert.ok(isForged(signed({ url })), url)
  const withPort = 'https://pay.shop.example:8443/notices/pawapay/live/mer_1'
  assert.equal(judge({ ...signed({ url: withPort }), url: withPort }, keyOf), 'genuine')
})

test('a signature that leaves out the address or the body is forged', () => {
  const covered = ['@method', '@authority', '@path', 'content-digest']
  assert.equal(judge(signed({ covered }), keyOf), 'genuine')
  for (const left of ['@authority', '@path', 'content-digest'])
    assert.ok(isForged(signed({ covered: covered.filter((name) => name !== left) })), left)
  assert.ok(isForged(signed({ covered: [...covered, 'x-absent'] })))
})

for (const [seconds, is] of [
  [0, 'genuine'],
  [50, 'genuine'],
  [-50, 'genuine'],
  [90, 'forged'],
  [-90, 'forged'],
] as const) {
  test(`a callback by a clock that is ${seconds} s off is ${is}`, () => {
    assert.equal(isForged(signed({}, seconds)), is === 'forged')
  })
}

test('a key that is not theirs is forged, and one that could not be asked for yet is not judged', () => {
  assert.ok(isForged(signed({ keyid: 'HTTP_EC_P256_KEY:9' })))
  assert.ok(isForged(signed({ key: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey })))
  assert.equal(
    judge(signed(), () => 'unread'),
    'key unread',
  )
  assert.equal(judge({ ...signed(), headers: {} }, keyOf), 'unsigned')
})

test('the headers of their document are read', () => {
  const input =
    'sig-pp=("@method" "@authority" "@path" "signature-date" "content-digest" "content-type");alg="ecdsa-p256-sha256";keyid="HTTP_EC_P256_KEY:1";created=1714657551;expires=1714657611'
  const at = new Date(1_714_657_551_000)
  const notice = signed({ at })
  assert.equal(notice.headers['signature-input'], input)
  assert.equal(judge({ ...notice, receivedAt: at }, keyOf), 'genuine')
})

const reading = (changes: object) =>
  readingOf({ headers: {}, body: bodyOf({ ...DEPOSIT, ...changes }), receivedAt: NOW })
const NOW = new Date('2024-05-02T16:46:00Z')

test('a callback names our reference, and what became of the deposit', () => {
  const paid = reading({})
  assert.ok(paid.kind === 'notice' && paid.says === 'paid')
  assert.deepEqual([paid.reference, paid.receipts[0]?.transactionId], [reference, uuidOf(reference)])
  assert.equal(paid.transactionId, uuidOf(reference), 'for `findReference`, if we do not know the order')
  assert.equal((reading({ status: 'FAILED' }) as { says: string }).says, 'failed')
  // The page of the network is ready: it is not the last callback.
  const page = { status: 'PROCESSING', nextStep: 'REDIRECT_TO_AUTH_URL', authorizationUrl: 'https://wave.example/1' }
  assert.equal((reading(page) as { says: string }).says, 'pending')
  // `processing` would be applied without a check, and the signature may be of another merchant's callback.
  assert.equal((reading({ status: 'IN_RECONCILIATION' }) as { says: string }).says, 'pending')
  assert.equal((reading({ status: 'NEW' }) as { says: string }).says, 'other')
})

test('a signed callback about a deposit that is not named after our reference is a hint at most', () => {
  const depositId = 'f4401bd2-1568-4140-bf2d-eb77d2b2b639'
  for (const clientReferenceId of [reference, 'INV-123456', null]) {
    assert.deepEqual(reading({ depositId, clientReferenceId }), { kind: 'hint', reference: depositId })
  }
})

test('a refund names the order that we sent along, and one that was made elsewhere names none', () => {
  const refund = {
    ...{ refundId: uuidOf('r'), status: 'COMPLETED', amount: '5.00', currency: 'ZMW', created: '2024-05-02T16:45:51Z' },
  }
  const ours = readingOf({
    ...{ headers: {}, receivedAt: NOW, body: bodyOf({ ...refund, metadata: { orderReference: reference } }) },
  })
  assert.deepEqual(ours, { kind: 'notice', reference, says: 'refund', receipts: [] })
  for (const said of [refund, { payoutId: uuidOf('p'), status: 'COMPLETED' }]) {
    const other = readingOf({ headers: {}, receivedAt: NOW, body: bodyOf(said) })
    assert.deepEqual(other, { kind: 'notice', reference: null, says: 'other', receipts: [] })
  }
})

test('an unsigned callback is a hint at most', () => {
  assert.deepEqual(hintOf(BODY), { kind: 'hint', reference })
  for (const text of ['', '{}', '[]', '{"payoutId":"f4401bd2-1568-4140-bf2d-eb77d2b2b639"}'])
    assert.equal(hintOf(Buffer.from(text)).kind, 'forged', text)
})
