import assert from 'node:assert/strict'
import { test as nodeTest, type TestContext } from 'node:test'
import fc from 'fast-check'
import type { Provider, RawNotice, Receipt } from '../../src/providers/provider.ts'
import { assertSensible, change, changed, GARBAGE, noticeOf } from './conformance-checks.ts'
import type { Features, Rig } from './conformance-rig.ts'

/** Conformance of forged, odd and huge notices. */
export function noticesConformance(
  provider: Provider,
  { notices }: Features,
  rigFor: (t: TestContext) => Promise<Rig>,
): void {
  const test = (what: string, run: (t: TestContext) => Promise<void>) =>
    nodeTest(`${provider.capabilities.name}: ${what}`, run)

  test("a notice with another's signature, none, or a broken one is forged", async (t) => {
    const rig = await rigFor(t)
    const { signed } = (await noticeOf(rig, 'paid')) ?? assert.fail('every provider tells of money')
    const { headers, body, receivedAt, url } = signed
    assert.equal(rig.connection.readNotice(signed).kind, 'notice')
    const { url: _, ...bare } = signed
    const bad: Record<string, RawNotice> = {
      'no header': { ...bare, headers: {} },
      "another's": rig.notices.signAsAnother(body, receivedAt),
    }
    // A token in the address is a signature, too.
    for (const odd of url ? ['', '/', '0', `${url}0`, url.slice(0, -1), `${url}/`, url.replace(/[^/]+$/, 'é')] : [])
      bad[`url: ${odd}`] = { ...signed, url: odd }
    for (const [name, value] of Object.entries(headers)) {
      for (const odd of [undefined, '', ' ', '0', `${value}0`, value?.slice(0, -1), value?.slice(1), 'é'.repeat(64)]) {
        bad[`${name}: ${odd}`] = { ...signed, headers: { [name]: odd } }
      }
    }
    if (rig.notices.covers.body) {
      const flipped = Buffer.from(body)
      flipped.writeUInt8(flipped.readUInt8(10) ^ 1, 10)
      bad['a changed byte'] = { ...signed, body: flipped }
      bad['cut short'] = { ...signed, body: body.subarray(0, -1) }
      bad.lengthened = { ...signed, body: Buffer.concat([body, Buffer.from(' ')]) }
      bad.empty = { ...signed, body: Buffer.alloc(0) }
    }
    if (rig.notices.covers.time) {
      bad.old = { ...signed, receivedAt: new Date(receivedAt.getTime() + 302_000) }
      bad['of the future'] = { ...signed, receivedAt: new Date(receivedAt.getTime() - 302_000) }
    }
    for (const [what, notice] of Object.entries(bad)) {
      assert.equal(rig.connection.readNotice(notice).kind, 'forged', what)
    }
  })

  test('money in a notice has the id that its check gives it, and whose id it is', async (t) => {
    const rig = await rigFor(t)
    const { handle, signed } = (await noticeOf(rig, 'paid')) ?? assert.fail('every provider tells of money')
    const idsOf = (receipts: Receipt[]) =>
      receipts.map(({ transactionId, idIsProviders }) => [transactionId, idIsProviders])
    const [reading, outcome] = [rig.connection.readNotice(signed), await rig.connection.check(handle)]
    assert.ok(reading.kind === 'notice' && outcome.kind === 'paid')
    assert.deepEqual(idsOf(reading.receipts), idsOf(outcome.receipts))
  })

  test('an odd or huge notice never throws, signed or not', async (t) => {
    const rig = await rigFor(t)
    const odd = [
      ...GARBAGE.map((text) => Buffer.from(text)),
      Buffer.from([0xff, 0xfe, 0x00]),
      Buffer.alloc(2 ** 20, '['),
    ]
    for (const body of odd) {
      const reading = rig.connection.readNotice(rig.notices.sign(body, new Date()))
      assert.ok(reading.kind === 'unreadable' || (reading.kind === 'notice' && reading.says === 'other'), reading.kind)
    }
    for (const kind of notices) {
      const body = (await noticeOf(rig, kind))?.signed.body.toString()
      if (!body) continue
      fc.assert(
        fc.property(change, (change) => {
          assertSensible(rig.connection.readNotice(rig.notices.sign(Buffer.from(changed(body, change)), new Date())))
        }),
        { numRuns: 200 },
      )
    }
  })
}
