import type { TestContext } from 'node:test'
import { conformanceSuite } from '../../../test/fakes/conformance.ts'
import { fakePawapay, startFakePawapay } from '../../../test/fakes/pawapay/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import { pawapay } from './adapter.ts'

async function rigFor(t: TestContext) {
  const fake = await startFakePawapay(t)
  const { settings, upstream, notices } = fake
  const http = httpTo(upstream)
  const connection = pawapay.connect({ mode: 'sandbox', settings, baseURL: upstream.url, http })
  // The service does it before it reads a notice.
  await connection.prepareNotice?.(notices.sign(Buffer.from('{}'), new Date()))
  return { ...fake, connection }
}

conformanceSuite(fakePawapay, rigFor)
