import { conformanceSuite } from '../../../test/fakes/conformance.ts'
import { fakeMpesa, startFakeMpesa } from '../../../test/fakes/mpesa/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import type { ProviderHttp } from '../provider.ts'
import { mpesa } from './adapter.ts'

conformanceSuite(fakeMpesa, async (t) => {
  const fake = await startFakeMpesa(t)
  const [calls, logins] = [httpTo(fake.upstream), httpTo(fake.upstream)]
  // Logins have a way out of their own, so that the first call after one meets no kept connection: the suite tells
  // those apart.
  const http: ProviderHttp = { request: (call) => (call.url.includes('/oauth/') ? logins : calls).request(call) }
  const connection = mpesa.connect({ mode: 'sandbox', settings: fake.settings, baseURL: fake.upstream.url, http })
  // What the suite loses on the way is then the call itself, not the login before it.
  await connection.verifyKeys()
  return { ...fake, connection }
})
