import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ANNOUNCED } from '../../src/events/event.ts'
import { runCommand } from '../support/command.ts'
import { createDatabase } from '../support/database.ts'
import { startListener } from '../support/listener.ts'
import { startForTest } from '../support/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'manilla-trigger-'))
after(() => rm(folder, { recursive: true, force: true }))
const settings = {
  DATABASE_URL: (await createDatabase()).url,
  SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  DATA_DIR: folder,
  WEBHOOK_ALLOW_PRIVATE: 'sandbox',
}
const service = await startForTest(settings)
const onService = (...args: string[]) => runCommand(args, settings)

interface Told {
  event: string
  payment: string
  did: string[]
  deliveries: { url: string; state: string }[]
}

const trigger = async (type: string, ...more: string[]): Promise<Told> => {
  const { code, output } = await onService('webhooks', 'trigger', type, '--json', ...more)
  assert.equal(code, 0, output)
  return JSON.parse(output)
}

describe('trigger', { concurrency: 3 }, () => {
  const IMPOSSIBLE = ['refund.failed', 'refund.needs_review', 'settlement.paid', 'settlement.difference']
  const TYPES = ANNOUNCED.filter((type) => !IMPOSSIBLE.includes(type))

  for (const type of TYPES) {
    test(`${type} really happens, and the payment's webhook receives it`, async () => {
      const shop = await startListener()
      const said = await trigger(type, '--webhook', shop.url)
      const heard = shop.heard.map(({ body }) => JSON.parse(body)).find(({ id }) => id === said.event)
      assert.equal(heard?.type, type)
      assert.equal(heard.data.payment.reference, said.payment)
      assert.deepEqual(
        said.deliveries.map(({ url, state }) => [url, state]),
        [[shop.url, 'delivered']],
      )
      const answer = await fetch(`${service.baseUrl}/payments/v1/events/${said.event}`, { headers: service.headers })
      assert.equal(answer.status, 200, 'it is on record like any other')
    })
  }

  for (const type of IMPOSSIBLE) {
    test(`${type} cannot happen here: the reason is printed, and no payment is created`, async () => {
      const { code, output } = await onService('webhooks', 'trigger', type, '--url', service.baseUrl)
      assert.equal(code, 1)
      assert.match(output, /cannot be triggered in the sandbox/)
      assert.doesNotMatch(output, /started payment/)
    })
  }

  test('lists the types without an argument or with an unknown type', async () => {
    for (const words of [[], ['payment.lost']]) {
      const { code, output } = await onService('webhooks', 'trigger', ...words)
      assert.equal(code, 2)
      for (const type of ANNOUNCED) assert.ok(output.includes(type), type)
      assert.doesNotMatch(output, /\bat .*\.ts:/)
    }
  })

  test('reports in a sentence that no service answers, or that it refuses the webhook', async () => {
    const nobody = await onService('webhooks', 'trigger', 'payment.successful', '--url', 'http://127.0.0.1:1')
    assert.equal(nobody.code, 1)
    assert.match(nobody.output, /No service answers at http:\/\/127\.0\.0\.1:1 /)
    const wrong = ['--url', service.baseUrl, '--webhook', 'nonsense']
    const refused = await onService('webhooks', 'trigger', 'payment.successful', ...wrong)
    assert.equal(refused.code, 1)
    assert.match(refused.output, /refused with 400: .*\/webhook/)
  })
})
