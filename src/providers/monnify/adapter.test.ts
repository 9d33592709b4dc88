import type { TestContext } from 'node:test'
import { behavesAsProvider } from '../behaves-as-provider.ts'
import { providerHttp } from '../provider-http.ts'
import { monnify } from './adapter.ts'
import { KEYS, startFakeMonnify } from './fake.ts'

async function setUp(t: TestContext) {
  const fake = await startFakeMonnify(t)
  const at = { settings: KEYS, baseURL: fake.upstream.url, http: providerHttp({ deadlineMs: 250 }) }
  const sandbox = monnify.connect({ ...at, mode: 'sandbox' })
  // So that what the suite loses on the way is the call itself, not the login before it.
  await sandbox.verifyKeys()
  const live = monnify.connect({ ...at, mode: 'live' })
  return Object.assign(fake, { connection: { ...sandbox, readNotice: live.readNotice }, sandbox, live })
}

behavesAsProvider(monnify, { sends: ['paid', 'refunded'], asksForSteps: false, hidesAccountNames: false }, setUp)
