import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, pageHtml } from './html.ts'

test('every value is escaped, unless it was made by the tag itself', () => {
  assert.equal(
    html`<p title="${'"><script>'}">${"<b>&'"}</p>`.text,
    '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;&#39;</p>',
  )
  assert.equal(html`<ul>${html`<li>${'<'}</li>`}</ul>`.text, '<ul><li>&lt;</li></ul>')
  assert.equal(html`${null}${undefined}${5}`.text, '5')
})

test('a page is ASCII but for scripts of their own, and says the same', () => {
  const said = pageHtml`<p title="${'₦5 – “so”'}">${'Crème & thé'} ${'مرحبا'} ${'<b>’'}</p>`.text
  assert.equal(
    said,
    '<p title="&#8358;5 &#8211; &#8220;so&#8221;">Cr&#232;me &amp; th&#233; مرحبا &lt;b&gt;&#8217;</p>',
  )
  assert.equal(pageHtml`${'₦5 – “so”'}`.text, pageHtml`${'₦5 – “so”'}`.text, 'remembered as it was')
})
