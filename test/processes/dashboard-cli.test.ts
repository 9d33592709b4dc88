import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand } from '../support/command.ts'
import { createDatabase } from '../support/database.ts'
import { type ServiceProcess, startForTest } from '../support/process.ts'

const { url } = await createDatabase()
const env = {
  DATABASE_URL: url,
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  DATA_DIR: '/nonexistent', // everything that it would hold is set
  SANDBOX_CLIENT_ID: 'cid_sandbox_test',
  SANDBOX_CLIENT_SECRET: 'sec_sandbox_test',
  SANDBOX_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
}
const EMAIL = 'ada@example.com'

const linkIn = (output: string) => /http:\/\/\S+\/dashboard\/welcome#([\w-]{43})/.exec(output)?.[1] ?? ''
const manilla = (...args: string[]) => runCommand(args, env)

async function post({ baseUrl }: ServiceProcess, path: string, body: unknown) {
  const headers = { origin: baseUrl, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${baseUrl}/dashboard/api${path}`, init)
  return { status: response.status, cookie: response.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
}

async function stop(service: ServiceProcess): Promise<void> {
  service.child.kill('SIGTERM')
  assert.equal(await service.exited, 0)
}

test('the printed link makes the first account, and its token is in no log line', async () => {
  const service = await startForTest(env)
  const token = linkIn(service.output())
  assert.ok(token)
  const account = { token, name: 'Ada', email: EMAIL, password: 'correct horse battery staple' }
  const { status, cookie } = await post(service, '/welcome', account)
  assert.equal(status, 200)
  const session = await fetch(`${service.baseUrl}/dashboard/api/session`, { headers: { cookie } })
  const { data } = (await session.json()) as { data: { merchants: { name: string }[] } }
  assert.equal(data.merchants[0]?.name, 'Demo Store')
  await stop(service)
  assert.equal(service.output().split(token).length - 1, 1, 'printed once')
  assert.ok(!service.output().includes(cookie.split('=')[1] ?? ''))

  const again = await startForTest(env)
  assert.match(again.output(), /Dashboard {7}http:\/\/localhost:\d+\/dashboard\n/)
  await stop(again)
})

test('dashboard link: refused without a member once there is one, and a way back in for each', async () => {
  const refused = await manilla('dashboard', 'link')
  assert.deepEqual([refused.code, /--member EMAIL/.test(refused.output)], [1, true])
  assert.equal((await manilla('dashboard', 'link', '--member', 'nobody@example.com')).code, 1)
  const { code, output } = await manilla('dashboard', 'link', '--member', EMAIL, '--clear-second-factor')
  assert.equal(code, 0)
  const service = await startForTest(env)
  const reset = { token: linkIn(output), password: 'another horse battery staple' }
  assert.equal((await post(service, '/welcome/password', reset)).status, 200)
  assert.equal((await post(service, '/sign-in/password', { email: EMAIL, password: reset.password })).status, 200)
  await stop(service)
})

test('member: list, invite, operator and remove', async () => {
  const [first] = JSON.parse((await manilla('member', 'list', '--json')).output)
  assert.deepEqual([first.email, first.role, first.operator], [EMAIL, 'owner', true])
  const { merchantId } = first
  const invite = (...more: string[]) => manilla('member', 'invite', '--merchant', merchantId, '--email', ...more)
  assert.equal((await invite('grace@example.com', '--role', 'boss')).code, 2)
  assert.equal((await invite('grace@example.com', '--role', 'owner')).code, 1, 'there is an owner')
  const invited = await invite('Grace@example.com', '--role', 'support')
  const service = await startForTest(env)
  const account = { token: linkIn(invited.output), name: 'Grace', password: 'correct horse battery staple' }
  assert.equal((await post(service, '/welcome', account)).status, 200)
  await stop(service)
  assert.match((await manilla('member', 'list', '--merchant', merchantId)).output, /grace@example\.com .* support +no/)

  const last = await manilla('member', 'operator', '--email', EMAIL, '--off')
  assert.deepEqual([last.code, /last operator/.test(last.output)], [1, true])
  assert.equal((await manilla('member', 'operator', '--email', 'grace@example.com')).code, 0)
  assert.equal((await manilla('member', 'operator', '--email', EMAIL, '--off')).code, 0)
  const remove = (email: string) => manilla('member', 'remove', '--merchant', merchantId, '--email', email)
  assert.equal((await remove(EMAIL)).code, 1, 'the owner stays')
  assert.equal((await remove('grace@example.com')).code, 0)
  assert.doesNotMatch((await manilla('member', 'list')).output, /grace/)
})
