import type { Brand, Corners } from './brand.ts'

type Rgb = [number, number, number]

const WHITE: Rgb = [255, 255, 255]
const BLACK: Rgb = [0, 0, 0]
// Backgrounds of the accent colour. Light: the page is darker than the card; dark: the card is lighter. The worse of
// the two is checked.
const LIGHT = { card: WHITE, ground: rgb('#f4f5f7') }
const DARK = { card: rgb('#1a1d24') }
const DEFAULT = { light: rgb('#0b6e4f'), dark: rgb('#4cc38a') }

// WCAG 2.2: 1.4.3 for text, 1.4.11 for the edge of a button and the focus ring.
const TEXT = 4.5
const EDGE = 3
const HOVER_SHARE = 0.12

const CORNERS: Record<Corners, string> = {
  square: '--corner:0px;--card-corner:0px',
  rounded: '--corner:.75rem;--card-corner:1rem',
  pill: '--corner:999px;--card-corner:1.5rem',
}

/**
 * A merchant's colours as CSS variables: `--accent` and `--hover` behind `--on-accent`, `--edge` around them, `--link`
 * for text, `--focus` for the ring, `--corner` for controls. Contrast meets WCAG for every colour. Values are computed
 * from numbers, so no merchant text reaches the style sheet.
 */
export function themeStyle(brand: Pick<Brand, 'colour' | 'corners'>): string {
  const known = STYLES.get(brand)
  if (known) return known
  const style = styleOf(brand)
  STYLES.set(brand, style)
  return style
}

// Cache: a brand object is reused for many page views.
const STYLES = new WeakMap<object, string>()

function styleOf(brand: Pick<Brand, 'colour' | 'corners'>): string {
  const { light, dark } = coloursOf(brand.colour)
  const [inLight, inDark] = [declarations(light), declarations(dark)]
  return `:root{${CORNERS[brand.corners]}}:root,:root[data-theme=light]{${inLight}}@media(prefers-color-scheme:dark){:root{${inDark}}}:root[data-theme=dark]{${inDark}}`
}

/** Measured contrast of a merchant's colour on the page, and what the page changes to keep it readable. */
export interface ContrastReport {
  /** The text on the button, in light mode. */
  button: { colour: string; text: string; ratio: number }
  /** The button on the white card. Below 3 it gets a border. */
  card: { ratio: number; hasBorder: boolean }
  /** The colour of links on the page, darkened if it has to be. */
  link: { colour: string; ratio: number }
  /** The colour on the card in dark mode, lightened if it has to be. */
  dark: { colour: string; ratio: number }
}

export function contrastReport(colour: string | null): ContrastReport {
  const { light, dark } = coloursOf(colour)
  const rounded = (ratio: number) => Math.floor(ratio * 100) / 100
  return {
    button: { colour: hex(light.accent), text: hex(light.ink), ratio: rounded(contrast(light.ink, light.accent)) },
    card: { ratio: rounded(contrast(light.accent, LIGHT.card)), hasBorder: light.edge !== undefined },
    link: { colour: hex(light.link), ratio: rounded(contrast(light.link, LIGHT.ground)) },
    dark: { colour: hex(dark.accent), ratio: rounded(contrast(dark.accent, DARK.card)) },
  }
}

interface Colours {
  accent: Rgb
  /** The text on the accent. */
  ink: Rgb
  link: Rgb
  edge?: Rgb | undefined
}

function coloursOf(text: string | null): { light: Colours; dark: Colours } {
  const colour = text !== null && /^#[0-9a-f]{6}$/.test(text) ? rgb(text) : undefined
  return { light: lightColours(colour ?? DEFAULT.light), dark: darkColours(colour ?? DEFAULT.dark) }
}

function lightColours(accent: Rgb): Colours {
  const link = towards(BLACK, accent, (colour) => contrast(colour, LIGHT.ground) >= TEXT)
  const isPale = contrast(accent, LIGHT.card) < EDGE
  const edge = isPale ? towards(BLACK, accent, (colour) => contrast(colour, LIGHT.card) >= EDGE) : undefined
  return { accent, ink: inkOn(accent), link, edge }
}

/** Lightened until it is readable on the dark card; then it needs no edge. */
function darkColours(colour: Rgb): Colours {
  const accent = towards(WHITE, colour, (lighter) => contrast(lighter, DARK.card) >= TEXT)
  return { accent, ink: inkOn(accent), link: accent }
}

/** White unless its contrast is too low; black or white always reaches 4.58. */
function inkOn(accent: Rgb): Rgb {
  return contrast(WHITE, accent) >= TEXT ? WHITE : BLACK
}

function declarations({ accent, ink, link, edge }: Colours): string {
  return `--accent:${hex(accent)};--on-accent:${hex(ink)};--hover:${hex(hover(accent, ink))};--link:${hex(link)};--focus:${hex(link)};--edge:${edge ? hex(edge) : 'transparent'}`
}

/** Mixes in the text colour while the text stays readable; otherwise mixes away from it. */
function hover(accent: Rgb, ink: Rgb): Rgb {
  const nearer = mix(accent, ink, HOVER_SHARE)
  return contrast(nearer, ink) >= TEXT ? nearer : mix(accent, ink === WHITE ? BLACK : WHITE, HOVER_SHARE)
}

/** The smallest change that is enough. Black and white always are. */
function towards(end: Rgb, from: Rgb, isEnough: (colour: Rgb) => boolean): Rgb {
  for (let percent = 0; percent < 100; percent++) {
    const colour = mix(from, end, percent / 100)
    if (isEnough(colour)) return colour
  }
  return end
}

function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const channel = (index: 0 | 1 | 2) => Math.round(from[index] + (to[index] - from[index]) * share)
  return [channel(0), channel(1), channel(2)]
}

/** WCAG contrast ratio: 1 to 21. */
function contrast(one: Rgb, other: Rgb): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance([red, green, blue]: Rgb): number {
  const linear = (channel: number) =>
    channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function rgb(colour: string): Rgb {
  const value = Number.parseInt(colour.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

function hex([red, green, blue]: Rgb): string {
  return `#${((red << 16) | (green << 8) | blue).toString(16).padStart(6, '0')}`
}
