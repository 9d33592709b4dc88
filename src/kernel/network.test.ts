import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networkOf } from './network.ts'

test('an IPv6 address counts as its /64 network, in every spelling', () => {
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(networkOf('2001:db8:1:2::6'), '2001:db8:1:2::/64')
  assert.equal(networkOf('2001:0DB8:0001:0002::6'), '2001:db8:1:2::/64')
  assert.equal(networkOf('2001:db8:1:2::192.0.2.1'), '2001:db8:1:2::/64')
  assert.equal(networkOf('2001:db8:1:2:3:4:192.0.2.1'), '2001:db8:1:2::/64')
  assert.equal(networkOf('2001:db8::1'), '2001:db8:0:0::/64')
  assert.equal(networkOf('2001:0:0:1::1'), '2001:0:0:1::/64')
  assert.equal(networkOf('::1'), '0:0:0:0::/64')
  assert.equal(networkOf('::'), '0:0:0:0::/64')
  assert.equal(networkOf('fe80::1%eth0'), 'fe80:0:0:0::/64')
})

test('an IPv4 address counts as itself, also when it is mapped to IPv6', () => {
  assert.equal(networkOf('192.0.2.1'), '192.0.2.1')
  for (const mapped of ['::ffff:192.0.2.1', '::FFFF:c000:201', '0:0:0:0:0:ffff:192.0.2.1', '::ffff:192.0.2.1%eth0'])
    assert.equal(networkOf(mapped), '192.0.2.1', mapped)
})

test('an IPv4 address counts as itself behind NAT64', () => {
  for (const mapped of ['64:ff9b::192.0.2.1', '64:ff9b::c000:201', '0064:FF9B:0::c000:201'])
    assert.equal(networkOf(mapped), '192.0.2.1', mapped)
  assert.equal(networkOf('64:ff9b:1::192.0.2.1'), '64:ff9b:1:0::/64', 'the prefix for local use')
})

test('a port and brackets, as some proxies add them, do not make another address', () => {
  for (const address of ['192.0.2.1:80', '192.0.2.1:41234', '[::ffff:192.0.2.1]:41234'])
    assert.equal(networkOf(address), '192.0.2.1', address)
  for (const address of ['[2001:db8::1]:443', '[2001:db8::1]:41234', '[2001:db8::2]', '[2001:db8::1%eth0]:443'])
    assert.equal(networkOf(address), '2001:db8:0:0::/64', address)
})

test('what is no address, such as a text of a proxy, counts as itself', () => {
  for (const text of ['', 'unknown', 'unknown:80', '1.2:80', '[a]:80', 'a:b', '%']) assert.equal(networkOf(text), text)
})
