import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { gatewayKeys, merchantOfKey } from './keys.ts'

const MERCHANT = '01890a5d-ac96-774b-bcce-b302099a8057'
const HEX = MERCHANT.replaceAll('-', '')
const masterKey = randomBytes(32)

test('the keys of a merchant follow from the master key', () => {
  const proof = createHmac('sha256', masterKey).update(`gateway:${HEX}`).digest('hex').slice(0, 40)
  assert.deepEqual(gatewayKeys(masterKey, MERCHANT), { secretKey: `gsk_${HEX}_${proof}`, publicKey: `gpk_${HEX}` })
})

test('a secret key identifies its merchant, and other text identifies none', () => {
  const { secretKey, publicKey } = gatewayKeys(masterKey, MERCHANT)
  assert.equal(merchantOfKey(masterKey, secretKey), MERCHANT)
  const last = secretKey.endsWith('0') ? '1' : '0'
  for (const wrong of [
    '',
    publicKey,
    `${secretKey} `,
    secretKey.slice(0, -1),
    secretKey.slice(0, -1) + last,
    'gsk_é',
  ]) {
    assert.equal(merchantOfKey(masterKey, wrong), undefined, wrong)
  }
  assert.equal(merchantOfKey(randomBytes(32), secretKey), undefined)
})
