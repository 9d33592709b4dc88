import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, startPaying } from '../support/paying.ts'
import { isPaid } from '../support/sandbox-payments.ts'
import { blocksOf, run, runTypeScript } from '../support/snippets.ts'

const { baseUrl, addShop } = await startPaying()
const shop = await addShop()
const env = { CLIENT_ID: shop.headers['client-id'], CLIENT_SECRET: shop.headers['client-secret'] }
const filled = (text: string) => text.replaceAll('http://localhost:3000', baseUrl)
const answerOf = async (block: string) => {
  const answer = JSON.parse(await run(filled(block), env))
  assert.ok(answer.data, JSON.stringify(answer))
  return answer.data
}

test('docs/channels.md: the channels of a country', async () => {
  const [list = ''] = blocksOf('docs/channels.md', 'sh')
  const rows: { provider: string }[] = await answerOf(list)
  assert.ok(rows.some(({ provider }) => provider === 'gateway-mobile-money'))
})

test('docs/channels/mobile-money.md: a first payment, and one with a code', async () => {
  const [start = '', read = '', ...more] = blocksOf('docs/channels/mobile-money.md', 'sh')
  assert.equal(more.length, 0)
  const { channel, data } = await answerOf(start)
  assert.deepEqual([channel, data.network, data.phoneNumber], ['mobile-money', 'mtn', '+233•••••4789'])
  const { attempts } = await answerOf(read)
  // The test does not wait for the three seconds.
  await shop.call('POST', `/sandbox/gateway/prompts/${attempts[0].providerReference}`, { answer: 'approve' })
  await eventually(() => answerOf(read), isPaid)
  const [setUp = ''] = blocksOf('docs/quickstart.md', 'ts')
  const said = await runTypeScript(filled([setUp, ...blocksOf('docs/channels/mobile-money.md', 'ts')].join('\n')), env)
  assert.match(said.trim(), /^(pending|successful)$/)
})

test('docs/channels/ussd.md: a transfer to an account number can be dialled', async () => {
  const [setUp = ''] = blocksOf('docs/quickstart.md', 'ts')
  const said = await runTypeScript(filled([setUp, ...blocksOf('docs/channels/ussd.md', 'ts')].join('\n')), env)
  assert.match(said, /^Guaranty Trust Bank \*737\*2\*5000\*\d{10}#$/m)
})

for (const [name, member] of [
  ['ussd', 'code'],
  ['bank', 'link'],
  ['qr', 'qr'],
]) {
  test(`docs/channels/${name}.md: the answer has ${member}`, async () => {
    const [start = ''] = blocksOf(`docs/channels/${name}.md`, 'sh')
    const { channel, data } = await answerOf(start)
    assert.equal(channel, name)
    assert.ok(data[String(member)], JSON.stringify(data))
  })
}
