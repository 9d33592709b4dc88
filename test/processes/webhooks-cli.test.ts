import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { carefulHandler } from '../support/careful-handler.ts'
import { type RunningCommand, runCommand, startCommand } from '../support/command.ts'
import { createDatabase } from '../support/database.ts'
import { startListener } from '../support/listener.ts'
import { eventually } from '../support/paying.ts'
import { type ServiceProcess, startForTest } from '../support/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'manilla-webhooks-'))
after(() => rm(folder, { recursive: true, force: true }))
const settings = { DATA_DIR: join(folder, 'data') }

const manilla = (...args: string[]) => runCommand(args, settings)

const says = (running: RunningCommand, words: RegExp) =>
  eventually(
    async () => running.output(),
    (output) => words.test(output),
    20_000,
  )

async function stop(service: ServiceProcess): Promise<void> {
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
}

const secretIn = (text: string) => /whsec_\S+/.exec(text)?.[0] ?? ''

test('listen starts no database of its own, waits for the service, forwards what happens, signed, survives a restart and a rotation, and ends with 0', async () => {
  const shop = await startListener()
  const listening = startCommand(['webhooks', 'listen', '--forward', shop.url], settings)
  await says(listening, /waiting for the service \(none is running\)/)
  await assert.rejects(readFile(join(settings.DATA_DIR, 'keys.json')), 'nothing is made by looking')

  const first = await startForTest(settings)
  await says(listening, /Forwarding to/)
  const before = JSON.parse(
    (await manilla('webhooks', 'trigger', 'payment.successful', '--url', first.baseUrl, '--json')).output,
  )
  assert.match(before.event, /^evt_/)
  const [heard] = await shop.hears(1, 30_000)
  new Webhook(secretIn(first.output())).verify(heard?.body ?? '', heard?.headers as Record<string, string>)
  assert.equal(heard?.headers['webhook-id'], before.event)
  assert.equal(heard?.headers['user-agent'], 'Manilla-Webhooks/1')
  assert.equal(JSON.parse(heard?.body ?? '').data.payment.reference, before.payment)
  await says(
    listening,
    new RegExp(`payment.successful {2}${before.payment} {2}₦12,500.00 {2}sequence 4 {2}${before.event}`),
  )
  await says(listening, new RegExp(`✓ ${before.event} {2}200 in \\d+ ms`))

  const rotated = await manilla('webhooks', 'secret', '--rotate')
  assert.equal(rotated.code, 0, rotated.output)
  await stop(first)
  await says(listening, /Forwarding to[\s\S]*waiting for the service \(none is running\)/)
  const second = await startForTest(settings)
  assert.ok(second.output().includes(secretIn(rotated.output)), 'a rotated secret survives the restart')
  assert.notEqual(secretIn(first.output()), secretIn(second.output()))
  await says(listening, /Forwarding to[\s\S]*Forwarding to/)

  // Refused at first, then sent again with the same event id and body.
  let refusals = 1
  shop.answer = (_, response) => response.writeHead(refusals-- > 0 ? 500 : 200).end()
  const later = JSON.parse(
    (await manilla('webhooks', 'trigger', 'attempt.failed', '--url', second.baseUrl, '--json')).output,
  )
  const tries = (await shop.hears(3, 30_000)).slice(1)
  assert.deepEqual(new Set(tries.map(({ headers }) => headers['webhook-id'])), new Set([later.event]))
  assert.equal(new Set(tries.map(({ body }) => body)).size, 1)
  for (const { body, headers } of tries) {
    new Webhook(secretIn(rotated.output)).verify(body, headers as Record<string, string>)
  }
  await says(listening, new RegExp(`✗ ${later.event} {2}500 in \\d+ ms, retry in 1 s[\\s\\S]*✓ ${later.event}`))

  listening.kill('SIGINT')
  assert.equal(await listening.exited, 0)
  assert.match(listening.output(), /Stopped\.\n$/)
  assert.equal(shop.heard.length, 3, 'each event once, but for what was refused')
  await stop(second)
})

test('listen reconnects after a restart of the database alone, and with --json prints one event per line', async () => {
  const service = await startForTest(settings)
  const listening = startCommand(['webhooks', 'listen', '--json'], settings)
  await says(listening, /Listening to/)
  const pidOfDatabase = async () =>
    (await readFile(join(settings.DATA_DIR, 'postgres/postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0]
  const ended = await pidOfDatabase()
  process.kill(Number(ended), 'SIGQUIT')
  await eventually(pidOfDatabase, (pid) => pid !== '' && pid !== ended, 20_000)
  await eventually(
    async () => (await fetch(`${service.baseUrl}/readyz`)).status,
    (status) => status === 200,
    20_000,
  )
  const said = JSON.parse(
    (await manilla('webhooks', 'trigger', 'payment.cancelled', '--url', service.baseUrl, '--json')).output,
  )
  await says(listening, new RegExp(`^{"event":{"id":"${said.event}","type":"payment.cancelled".*}}$`, 'm'))
  listening.kill('SIGTERM')
  assert.equal(await listening.exited, 0)
  await stop(service)
})

// These tests do not need the embedded database, so they use DATABASE_URL.
const other = {
  DATABASE_URL: (await createDatabase()).url,
  SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  DATA_DIR: join(folder, 'other'),
  WEBHOOK_ALLOW_PRIVATE: 'sandbox',
}
const service = await startForTest(other)
const onService = (...args: string[]) => runCommand(args, other)

test('listen reports wrong options, and does not wait for an unknown merchant', async () => {
  const typed = await onService('webhooks', 'listen', '--forward', 'localhost:8080')
  assert.equal(typed.code, 2)
  assert.match(typed.output, /--forward must be a URL/)
  const nobody = await onService('webhooks', 'listen', '--merchant', 'mer_1CC4iq7WDcVYjpyJcoHTNR')
  assert.equal(nobody.code, 1)
  assert.match(nobody.output, /There is no merchant/)
})

test('verify passes a correct handler', async () => {
  const shop = await startListener()
  shop.answer = carefulHandler(secretIn(service.output()))
  const { code, output } = await onService('webhooks', 'verify', shop.url, '--json')
  assert.equal(code, 0, output)
  const { passed, grades } = JSON.parse(output)
  assert.equal(passed, true)
  assert.equal(grades.length, shop.heard.length)
})

test('verify fails a careless handler for each message that it should have refused, and says how to fix it', async () => {
  const shop = await startListener()
  const { code, output } = await onService('webhooks', 'verify', shop.url)
  assert.equal(code, 1)
  assert.match(output, /4 of 10 to fix/)
  for (const what of ['stale', 'forged', 'altered', 'unsigned'])
    assert.match(output, new RegExp(`✗ +an? ${what} one[\\s\\S]*✗ an? ${what} one: \\S`))
  for (const what of ['a good event', 'the same again', 'old news', 'late money', 'a new type', 'a test event'])
    assert.match(output, new RegExp(`✓ +${what}`))
})

test('verify --acted finds a handler that ignores late money although its answers are correct', async () => {
  const careful = carefulHandler(secretIn(service.output()))
  const acted: string[] = []
  const shop = await startListener((heard, response) => {
    careful(heard, response)
    const { id, sequence } = JSON.parse(heard.body)
    if (response.statusCode === 204 && sequence >= 7) acted.push(id)
  })
  const list = await startListener((_, response) => response.end(JSON.stringify(acted)))
  const { code, output } = await onService('webhooks', 'verify', shop.url, '--acted', list.url)
  assert.equal(code, 1)
  assert.match(output, /1 of 10 to fix:\n✗ late money: It was dropped\. .*with any sequence/)
  const wrong = await onService('webhooks', 'verify', shop.url, '--acted', 'http://127.0.0.1:1/')
  assert.equal(wrong.code, 1)
  assert.match(wrong.output, /did not answer with a list of events\. Check --acted/)
})

test('webhooks secret prints help without the secret, and rotates for one merchant only', async () => {
  const how = await onService('webhooks', 'secret')
  assert.equal(how.code, 0)
  assert.match(how.output, /--rotate/)
  assert.doesNotMatch(how.output, /whsec_/)
  const nobody = await onService('webhooks', 'secret', '--merchant', 'mer_1CC4iq7WDcVYjpyJcoHTNR', '--rotate')
  assert.equal(nobody.code, 1)
  assert.match(nobody.output, /There is no merchant/)
  const made = await onService('merchant', 'create', '--name', 'Second Shop', '--country', 'NG', '--json')
  const second = ['--merchant', JSON.parse(made.output).id, '--mode', 'live']
  const rotated = JSON.parse((await onService('webhooks', 'secret', ...second, '--rotate', '--json')).output)
  assert.equal(rotated.rotated, true)
  assert.match(rotated.secret, /^whsec_/)
  const shop = await startListener()
  shop.answer = carefulHandler(secretIn(service.output()))
  assert.equal((await onService('webhooks', 'verify', shop.url)).code, 0)
})
