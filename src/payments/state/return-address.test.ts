import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOT_ADDRESSES } from '../../../test/support/hostile.ts'
import type { Payment } from './payment.ts'
import { returnAddress } from './return-address.ts'

const to = (redirectURL: string | null, reference = 'order-1') =>
  returnAddress({ redirectURL, reference, status: 'successful' } as Payment)

test('status and reference are set, and the merchant’s own parameters and fragment are kept', () => {
  assert.equal(to('https://shop.example/thanks'), 'https://shop.example/thanks?status=successful&reference=order-1')
  assert.equal(
    to('https://shop.example/t?cart=7&status=mine&status=twice#top'),
    'https://shop.example/t?cart=7&status=successful&reference=order-1#top',
  )
  assert.equal(
    to('https://shop.example/', 'a&b=c#d'),
    'https://shop.example/?status=successful&reference=a%26b%3Dc%23d',
  )
})

test('only http and https URLs are used as return address', () => {
  for (const address of [null, ...NOT_ADDRESSES]) assert.equal(to(address), undefined, String(address))
})
