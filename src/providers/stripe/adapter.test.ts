import type { TestContext } from 'node:test'
import { behavesAsProvider } from '../behaves-as-provider.ts'
import { providerHttp } from '../provider-http.ts'
import { stripe } from './adapter.ts'
import { startFakeStripe } from './fake.ts'

async function setUp(t: TestContext) {
  const fake = await startFakeStripe(t)
  const { settings, upstream } = fake
  const http = providerHttp({ deadlineMs: 250 })
  const connection = stripe.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  return { ...fake, connection }
}

behavesAsProvider(
  stripe,
  { sends: ['paid', 'failed', 'processing', 'pending', 'refunded'], asksForSteps: true, hidesAccountNames: false },
  setUp,
)
