import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { apiOf } from '../../src/cli/api.ts'
import { gradeShop } from '../../src/cli/grade-shop.ts'
import type { WebhookSecret } from '../../src/events/webhook-secret.ts'
import { ensureDefaultSecret, findDefaultSecret } from '../../src/events/webhook-secret-store.ts'
import { webhookHttp } from '../../src/outbound/webhook-http.ts'
import { muteWebhook } from '../../src/payments/store/payments.ts'
import { runCommand } from '../support/command.ts'
import { createDatabase } from '../support/database.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { startForTest } from '../support/process.ts'
import { SAMPLES, startSample } from '../support/samples.ts'
import { charge } from '../support/sandbox-payments.ts'

const { url: databaseUrl, database } = await createDatabase()
const { baseUrl, addShop, parts } = await startPaying({ database, databaseUrl, deliver: true, worker: true })
const http = webhookHttp()
after(() => http.close())

for (const sample of SAMPLES)
  test(`examples/${sample.name} sells, and passes shop verify`, async () => {
    const shop = await addShop()
    const owner = { merchantId: shop.merchantId, mode: 'sandbox' as const }
    await ensureDefaultSecret(database, parts.secrets, owner)
    const secret = (await findDefaultSecret(database, parts.secrets, owner)) as WebhookSecret
    const credentials = { clientId: shop.headers['client-id'], clientSecret: shop.headers['client-secret'] }
    const { url, output } = await startSample(sample, {
      ...{ CLIENT_ID: credentials.clientId, CLIENT_SECRET: credentials.clientSecret },
      ...{ WEBHOOK_SECRET: secret, MANILLA: baseUrl },
    })
    const text = async (path: string) => (await fetch(url + path)).text()
    const bought = await fetch(`${url}/buy`, { method: 'POST', redirect: 'manual' })
    assert.equal(bought.status, 303, output())
    const id = (bought.headers.get('location') ?? '').split('/pay/')[1] as string
    const { reference, amount } = await shop.payment(id)
    const thanks = `/thanks?status=successful&reference=${reference}`
    assert.equal(await text(thanks), 'Your payment is pending.', 'a forged return proves nothing')
    const { body } = await shop.initialize({ reference, amount })
    await charge(shop, body.data.data.reference)
    await eventually(
      () => text('/delivered'),
      (list) => list === reference,
    )
    assert.equal(await text(thanks), 'Thank you!')
    assert.equal(output().match(/is paid: deliver it/g)?.length, 1, output())

    const grades = await gradeShop({
      ...{ checkout: `${url}/buy`, delivered: `${url}/delivered`, webhook: undefined, form: [] },
      ...{ secret, provider: 'gateway', api: apiOf(baseUrl, credentials), post: http.post },
      mute: (payment) => muteWebhook(database, payment),
    })
    assert.deepEqual(
      grades.filter(({ mend }) => mend !== null),
      [],
    )
  })

test('the command shop verify finds the running service, its credentials and its secret', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-shop-verify-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const settings = { DATA_DIR: join(folder, 'data'), DEMO: 'off' }
  const service = await startForTest(settings)
  const sample = SAMPLES.find(({ name }) => name === 'flask') ?? assert.fail()
  const { url } = await startSample(sample, {
    ...{ CLIENT_ID: service.headers['client-id'], CLIENT_SECRET: service.headers['client-secret'] },
    ...{ WEBHOOK_SECRET: /whsec_\S+/.exec(service.output())?.[0] ?? '', MANILLA: service.baseUrl },
  })
  const { code, output } = await runCommand(
    ['shop', 'verify', '--checkout', `${url}/buy`, '--delivered', `${url}/delivered`],
    settings,
  )
  assert.equal(code, 0, output)
  assert.match(output, /The shop delivered exactly the paid orders/)
  const wrong = ['shop', 'verify', '--checkout', `${url}/thanks`, '--delivered', `${url}/delivered`]
  assert.match((await runCommand(wrong, settings)).output, /did not lead to the payment page \(405\)/)
})
