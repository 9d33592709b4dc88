import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../config/config.ts'
import { banner } from './banner.ts'

const SECRETS = ['sec_sandbox_example', 'whsec_example', 'one-time-token']
const service = {
  baseUrl: 'http://localhost:3000',
  serverUrl: 'http://127.0.0.1:3000',
  sandbox: { clientId: 'cid_sandbox_example', clientSecret: 'sec_sandbox_example' },
  sandboxWebhookSecret: 'whsec_example',
  dashboardUrl: 'http://localhost:3000/dashboard/welcome#one-time-token',
  demoUrl: undefined,
}
const SECRET_KEY = Buffer.alloc(32, 1).toString('base64')
const secretsIn = (text: string) => SECRETS.filter((secret) => text.includes(secret))

test('a developer sees all secrets, also in a file and with a database of their own', () => {
  const settings = [
    {},
    { HOST: '0.0.0.0', PUBLIC_URL: 'http://localhost:3000' },
    { HOST: '127.1.2.3', DATABASE_URL: 'postgres://localhost/manilla', SECRET_KEY },
  ]
  for (const env of settings) assert.deepEqual(secretsIn(banner(service, readConfig(env), false)), SECRETS)
})

test('secrets of a service with an https PUBLIC_URL are printed to a terminal only', () => {
  const config = readConfig({ PUBLIC_URL: 'https://pay.example.com' })
  assert.deepEqual(secretsIn(banner(service, config, true)), SECRETS)
  const log = banner(service, config, false)
  assert.deepEqual(secretsIn(log), [])
  assert.match(log, /Dashboard {7}http:\/\/localhost:3000\/dashboard\n/)
  for (const command of ['dashboard link', 'credential create --merchant mer_', 'webhooks secret --rotate'])
    assert.ok(log.includes(`manilla ${command}`), command)
})

test('secrets that the operator has set are not offered again', () => {
  const env = {
    ...{
      PUBLIC_URL: 'https://pay.example.com',
      SANDBOX_CLIENT_ID: 'cid_sandbox_example',
      SANDBOX_CLIENT_SECRET: 'sec_sandbox_example',
    },
    SANDBOX_WEBHOOK_SECRET: `whsec_${SECRET_KEY}`,
  }
  assert.deepEqual(banner(service, readConfig(env), false).match(/manilla .*/g), ['manilla dashboard link'])
})
