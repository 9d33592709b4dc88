import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Corners } from './brand.ts'
import { themeStyle } from './theme.ts'

type Values = Record<string, string>

/** The sheet as a browser sees it: what holds in the light, and what in the dark. */
function read(style: string): { light: Values; dark: Values; corners: Values } {
  const shape =
    /^:root\{([^{}]*)\}:root,:root\[data-theme=light\]\{([^{}]*)\}@media\(prefers-color-scheme:dark\)\{:root\{([^{}]*)\}\}:root\[data-theme=dark\]\{([^{}]*)\}$/
  const [, corners, light, dark, chosen] = shape.exec(style) ?? assert.fail(style)
  assert.equal(dark, chosen, 'dark is the same for the device setting and the chosen theme')
  const values = (text = '') => Object.fromEntries(text.split(';').map((pair) => pair.split(':') as [string, string]))
  return { light: values(light), dark: values(dark), corners: values(corners) }
}

/** WCAG's own words in code: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
function contrast(a: string | undefined, b: string): number {
  const luminance = (colour: string) => {
    const [r, g, b] = [1, 3, 5].map((at) => {
      const s = Number.parseInt(colour.slice(at, at + 2), 16) / 255
      return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4
    }) as [number, number, number]
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const [x, y] = [luminance(a ?? assert.fail()), luminance(b)]
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05)
}

const colour = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`)
const themed = (value: string | null, corners: Corners = 'rounded') => read(themeStyle({ colour: value, corners }))
const GROUNDS = { light: { card: '#ffffff', ground: '#f4f5f7' }, dark: { card: '#1a1d24', ground: '#101218' } }

function isReadable(value: string | null): void {
  const theme = themed(value)
  for (const mode of ['light', 'dark'] as const) {
    const { card, ground } = GROUNDS[mode]
    const of = theme[mode]
    const why = `${value} ${mode} ${JSON.stringify(of)}`
    const onAccent = of['--on-accent'] ?? ''
    assert.match(onAccent, /^#(000000|ffffff)$/, why)
    assert.ok(contrast(of['--accent'], onAccent) >= 4.5, `button ${why}`)
    assert.ok(contrast(of['--hover'], onAccent) >= 4.5, `hover ${why}`)
    assert.notEqual(of['--hover'], of['--accent'], why)
    assert.ok(contrast(of['--link'], card) >= 4.5, `link on card ${why}`)
    assert.ok(contrast(of['--link'], ground) >= 4.5, `link on ground ${why}`)
    assert.ok(contrast(of['--focus'], card) >= 3 && contrast(of['--focus'], ground) >= 3, `ring ${why}`)
    const outline = of['--edge'] === 'transparent' ? of['--accent'] : of['--edge']
    assert.ok(contrast(outline, card) >= 3, `edge ${why}`)
    if (of['--edge'] !== 'transparent') assert.ok(contrast(of['--accent'], card) < 3, `needless edge ${why}`)
  }
}

test('button, links, edge and focus ring have enough contrast for every colour, light and dark', () => {
  fc.assert(fc.property(colour, isReadable), { numRuns: 5_000 })
  // Chance rarely meets the greys and the full colours, where the limits are.
  for (let grey = 0; grey < 256; grey++) isReadable(`#${grey.toString(16).padStart(2, '0').repeat(3)}`)
  for (const full of ['#ff0000', '#00ff00', '#0000ff', '#ffff00', '#00ffff', '#ff00ff']) isReadable(full)
})

test('the light button has exactly the merchant’s colour', () => {
  fc.assert(fc.property(colour, (value) => themed(value).light['--accent'] === value))
})

test('a colour with enough contrast on dark is not changed', () => {
  assert.equal(themed('#4cc38a').dark['--accent'], '#4cc38a')
  assert.notEqual(themed('#0b6e4f').dark['--accent'], '#0b6e4f')
})

test('the default colour is ours', () => {
  isReadable(null)
  assert.equal(themed(null).light['--accent'], '#0b6e4f')
  assert.equal(themed(null).dark['--accent'], '#4cc38a')
})

test('a pale colour gets an edge, a strong one does not', () => {
  assert.notEqual(themed('#ffe600').light['--edge'], 'transparent')
  assert.equal(themed('#0b6e4f').light['--edge'], 'transparent')
})

test('corners are square, rounded or pill', () => {
  const corner = (corners: Corners) => themed(null, corners).corners['--corner']
  assert.deepEqual((['square', 'rounded', 'pill'] as const).map(corner), ['0px', '.75rem', '999px'])
})

test('invalid colours are ignored and never reach the style sheet', () => {
  const ours = themeStyle({ colour: null, corners: 'rounded' })
  const odd = [
    '',
    'red',
    '#FFF',
    '#0b6e4f}body{display:none',
    '#0b6e4f\n',
    '</style><script>',
    'url(//evil.example)',
    '#0b6e4f;',
  ]
  for (const value of odd) assert.equal(themeStyle({ colour: value, corners: 'rounded' }), ours, value)
  fc.assert(
    fc.property(colour, (value) => /^[\w\-:;#.[\]=,@(){}]*$/.test(themeStyle({ colour: value, corners: 'pill' }))),
  )
})

test('the theme style is small', () => {
  assert.ok(themeStyle({ colour: '#ffe600', corners: 'rounded' }).length <= 520)
})
