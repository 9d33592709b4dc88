// `npm run screenshots`: the pictures of the README, taken from the running service so that they stay true.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launchBrowser } from '../support/browser.ts'
import { startProcess } from '../support/process.ts'

const IMAGES = join(import.meta.dirname, '../../docs/images')

const SHOTS = {
  'pay-phone-light': { viewport: { width: 360, height: 560 }, deviceScaleFactor: 2, colorScheme: 'light' },
  'pay-wide-dark': { viewport: { width: 760, height: 480 }, deviceScaleFactor: 2, colorScheme: 'dark' },
} as const

const folder = await mkdtemp(join(tmpdir(), 'manilla-screenshots-'))
await mkdir(IMAGES, { recursive: true })
const service = await startProcess({ DATA_DIR: folder, LOG_LEVEL: 'warn' })
const browser = await launchBrowser()
try {
  const response = await fetch(`${service.baseUrl}/payments/v1/checkouts`, {
    method: 'POST',
    headers: service.headers,
    body: JSON.stringify({
      amount: 1_250_000,
      country: 'NG',
      reference: 'ORD-20931',
      user: { email: 'ada@example.com' },
    }),
  })
  const { data } = (await response.json()) as { data: { shortURL: string } }
  for (const [name, options] of Object.entries(SHOTS)) {
    const page = await (await browser.newContext(options)).newPage()
    await page.goto(data.shortURL)
    await page.screenshot({ path: join(IMAGES, `${name}.png`) })
  }
} finally {
  await browser.close()
  service.child.kill('SIGTERM')
  await service.exited
  await rm(folder, { recursive: true, force: true })
}
