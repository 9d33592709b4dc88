import type { TestContext } from 'node:test'
import { behavesAsProvider } from '../behaves-as-provider.ts'
import { providerHttp } from '../provider-http.ts'
import { flutterwave } from './adapter.ts'
import { startFakeFlutterwave } from './fake.ts'

async function setUp(t: TestContext) {
  const fake = await startFakeFlutterwave(t)
  const connection = flutterwave.connect({
    mode: 'sandbox',
    settings: fake.settings,
    baseURL: fake.upstream.url,
    http: providerHttp({ deadlineMs: 250 }),
  })
  return { ...fake, connection }
}

behavesAsProvider(flutterwave, { sends: ['paid', 'failed'], asksForSteps: true, hidesAccountNames: true }, setUp)
