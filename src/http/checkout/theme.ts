import type { Brand, Corners } from '../../merchants/branding.ts'

type Rgb = [number, number, number]

const WHITE: Rgb = [255, 255, 255]
const BLACK: Rgb = [0, 0, 0]
// What accents stand on. In the light the ground around the card is the darker of the two, in the dark it is the card: what can be
// read there can be read on both.
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
 * A merchant's colours as a style sheet: `--accent` and `--hover` under `--on-accent`, `--edge` around them, `--link` for text on the card
 * or the ground, `--focus` for the ring, `--corner` for controls. Whatever the colour, it can be read. Every value is made here, from
 * numbers; nothing of a merchant's is copied.
 */
export function themeStyle(brand: Pick<Brand, 'colour' | 'corners'>): string {
  const known = STYLES.get(brand)
  if (known) return known
  const style = styleOf(brand)
  STYLES.set(brand, style)
  return style
}

// A brand is looked up every few seconds, and its page is opened many times in between.
const STYLES = new WeakMap<object, string>()

function styleOf(brand: Pick<Brand, 'colour' | 'corners'>): string {
  const colour = brand.colour !== null && /^#[0-9a-f]{6}$/.test(brand.colour) ? rgb(brand.colour) : undefined
  const light = lightColours(colour ?? DEFAULT.light)
  const dark = darkColours(colour ?? DEFAULT.dark)
  return `:root{${CORNERS[brand.corners]}}:root,:root[data-theme=light]{${light}}@media(prefers-color-scheme:dark){:root{${dark}}}:root[data-theme=dark]{${dark}}`
}

function lightColours(accent: Rgb): string {
  const link = towards(BLACK, accent, (colour) => contrast(colour, LIGHT.ground) >= TEXT)
  const isPale = contrast(accent, LIGHT.card) < EDGE
  const edge = isPale && towards(BLACK, accent, (colour) => contrast(colour, LIGHT.card) >= EDGE)
  return declarations(accent, link, edge ? hex(edge) : 'transparent')
}

/** Lightened until it can be read on the dark card, and so never in need of an edge. */
function darkColours(colour: Rgb): string {
  const accent = towards(WHITE, colour, (lighter) => contrast(lighter, DARK.card) >= TEXT)
  return declarations(accent, accent, 'transparent')
}

function declarations(accent: Rgb, link: Rgb, edge: string): string {
  // White looks better on most colours; where it cannot be read, black can: one of the two always reaches 4.58.
  const ink = contrast(WHITE, accent) >= TEXT ? WHITE : BLACK
  return `--accent:${hex(accent)};--on-accent:${hex(ink)};--hover:${hex(hover(accent, ink))};--link:${hex(link)};--focus:${hex(link)};--edge:${edge}`
}

/** A shade nearer to the text on it, as long as that can be read; else a shade away. */
function hover(accent: Rgb, ink: Rgb): Rgb {
  const nearer = mix(accent, ink, HOVER_SHARE)
  return contrast(nearer, ink) >= TEXT ? nearer : mix(accent, ink === WHITE ? BLACK : WHITE, HOVER_SHARE)
}

/** As little as will do. Black and white themselves always do. */
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

/** As WCAG defines it: 1 for the same, 21 for black and white. */
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
