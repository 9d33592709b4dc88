import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { hasLanguage } from '../support/client-drivers.ts'
import { startPaying } from '../support/paying.ts'
import { read } from '../support/snippets.ts'

const { baseUrl, addShop } = await startPaying()
const ROOT = join(import.meta.dirname, '../..')
const TAG = '<!-- run by test/journeys/client-readmes.test.ts -->'

async function programOf(language: string): Promise<{ text: string; env: Record<string, string> }> {
  const shop = await addShop()
  const blocks = [
    ...read(`clients/${language}/README.md`).matchAll(new RegExp(`${TAG}\\n\`\`\`\\w+\\n([^]*?)\`\`\``, 'g')),
  ]
  const text = blocks
    .map(([, block]) => block)
    .join('')
    .replaceAll('http://localhost:3000', baseUrl)
  const env = {
    ...{ PATH: process.env.PATH ?? '', WEBHOOK_SECRET: 'whsec_AAAA' },
    ...{ CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'] },
  }
  return { text, env }
}

const SAYS = /^Send the customer to http\S+\nYour payment is pending\.\nORD-20931 1250000\n1 (null|None)\n/

if (hasLanguage('php'))
  test('the program of the README for PHP creates a payment, lists it and explains a used reference', async () => {
    const { text, env } = await programOf('php')
    const program = text.replace('<?php', '').replace('vendor/autoload.php', join(ROOT, 'clients/php/src/autoload.php'))
    // Names that are used must stand before the first statement.
    const uses = program.match(/^use .*;$/gm)?.join('\n') ?? ''
    const code = `${uses}\n${program.replaceAll(/^use .*;$/gm, '')}`
    const { stdout } = await promisify(execFile)('php', ['-d', 'display_errors=stderr', '-r', code], { env })
    assert.match(stdout, SAYS)
    assert.match(stdout, /It exists: http\S+\n$/)
  })

if (hasLanguage('python3'))
  test('the program of the README for Python does the same, also with asyncio', async () => {
    const { text, env } = await programOf('python')
    const path = { PYTHONPATH: join(ROOT, 'clients/python/src'), PYTHONDONTWRITEBYTECODE: '1' }
    const { stdout } = await promisify(execFile)('python3', ['-c', text], { env: { ...env, ...path } })
    assert.match(stdout, SAYS)
    assert.match(stdout, /\npending\n1\nIt exists: http\S+\n$/)
  })
