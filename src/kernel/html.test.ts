import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from './html.ts'

test('the html tag escapes every value that is not markup itself', () => {
  assert.equal(
    html`<p title="${'"><script>'}">${"<b>&'"}</p>`.text,
    '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;&#39;</p>',
  )
  assert.equal(html`<ul>${html`<li>${'<'}</li>`}</ul>`.text, '<ul><li>&lt;</li></ul>')
  assert.equal(html`${null}${undefined}${5}`.text, '5')
})
