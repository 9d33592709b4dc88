import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startUpstream } from './upstream.ts'

test('trouble can be chosen for each request, and something else be said in place of the work', async (t) => {
  const worked: string[] = []
  const upstream = await startUpstream(t, ({ path }) => {
    worked.push(path)
    return { status: 200, text: '{}' }
  })
  upstream.trouble = ({ path }) => {
    if (path === '/broken') return 'answering 503 after the work'
    return path === '/later' ? { status: 429, text: '', headers: { 'retry-after': '7' } } : undefined
  }
  const ask = async (path: string) => {
    const { status, headers } = await fetch(upstream.url + path)
    return [status, headers.get('retry-after')]
  }
  assert.deepEqual(await ask('/well'), [200, null])
  assert.deepEqual(await ask('/broken'), [503, null])
  assert.deepEqual(await ask('/later'), [429, '7'])
  assert.deepEqual(worked, ['/well', '/broken'])
})
