import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { after } from 'node:test'
import { type Browser, chromium } from 'playwright-core'

/** For a test file: closed when the file is done. */
export async function openBrowser(...settings: string[]): Promise<Browser> {
  const browser = await launchBrowser(...settings)
  after(() => browser.close())
  return browser
}

/** The browser that bin/bootstrap.mjs found or installed. */
export function launchBrowser(...settings: string[]): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...settings,
    ],
  })
}

function findChromium(): string | undefined {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH
  for (const name of ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']) {
    try {
      return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
    } catch {
      // Not this one.
    }
  }
  const mac = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
  return existsSync(mac) ? mac : undefined // Playwright's own, where bootstrap downloaded it
}
