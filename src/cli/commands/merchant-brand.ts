import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseId } from '../../kernel/ids.ts'
import { CORNERS, LANGUAGES, WIDGET_ACCESS } from '../../merchants/brand.ts'
import {
  type BrandingSettings,
  MAX_ORIGINS,
  parseColour,
  parseCorners,
  parseLanguage,
  parseOrigin,
  parseReturnAfterSeconds,
  parseWidgetAccess,
  RULES,
} from '../../merchants/branding.ts'
import { type Logo, logoOf, MAX_LOGO_BYTES } from '../../merchants/logo.ts'
import { brandMerchant } from '../../merchants/manage-merchants.ts'
import { parseMerchantName } from '../../merchants/merchant.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print } from '../print.ts'
import { actor, withDatabase } from '../with-database.ts'

// The space on a small phone.
const SHOWN_NAME_LENGTH = 40

export const merchantBrand: Command = {
  name: 'merchant brand',
  summary: 'Show or change the branding of a merchant’s payment page, and the sites that may embed it',
  options: {
    merchant: { value: 'mer_…', summary: 'The merchant', required: true },
    name: { value: 'NAME', summary: `Name shown to customers; the page shows ${SHOWN_NAME_LENGTH} characters` },
    colour: { value: "'#0b6e4f'|none", summary: 'Colour of buttons and links; none: the default' },
    corners: { value: CORNERS.join('|'), summary: 'Corners of buttons and fields' },
    language: { value: `${LANGUAGES.join('|')}|none`, summary: 'Default language of the page; none: the customer’s' },
    logo: { value: 'FILE|none', summary: 'PNG, JPEG or WebP of at most 10 KB; none: initials' },
    'return-after': { value: '0..60|off', summary: 'Seconds until a paid page returns to the shop' },
    origins: { value: 'https://a.example,…|none', summary: 'The sites that may embed the page in a frame' },
    widget: { value: WIDGET_ACCESS.join('|'), summary: 'open: a reference opens it; strict: it also needs a token' },
  },
  async run(options) {
    const merchantId = parseId('merchant', options.text('merchant') ?? '')
    const { changes, mistakes } = await readChanges(options)
    if (!merchantId) mistakes.unshift('--merchant must be an id like mer_…; see: manilla merchant list')
    if (!merchantId || mistakes.length > 0) throw new UsageError(mistakes.join('\n'))
    const settings = await withDatabase((deps) => brandMerchant(deps, actor(), merchantId, changes))
    const done = Object.keys(changes).length > 0 ? '\n\nEvery process applies it within 2 s.' : ''
    print(options.json, { merchantId, ...settings }, describe(settings) + done)
  },
}

type Changes = Parameters<typeof brandMerchant>[3]

/** The changes, and all mistakes in them. */
async function readChanges(options: Options): Promise<{ changes: Changes; mistakes: string[] }> {
  const changes: Changes = {}
  const mistakes: string[] = []

  /** `clear`: the word that resets the setting. */
  function read<Value>(option: string, rule: string, parse: (text: string) => Value | undefined, clear?: string) {
    const text = options.text(option)?.trim()
    if (text === undefined) return undefined
    if (text === clear) return null
    const value = parse(text)
    if (value === undefined) mistakes.push(`--${option} ${rule}${clear ? `, or ${clear}` : ''}.`)
    return value
  }

  const name = read('name', RULES.name, parseMerchantName)
  if (name) changes.name = name
  const colour = read('colour', RULES.colour, parseColour, 'none')
  if (colour !== undefined) changes.colour = colour
  const corners = read('corners', RULES.corners, parseCorners)
  if (corners) changes.corners = corners
  const language = read('language', RULES.language, parseLanguage, 'none')
  if (language !== undefined) changes.language = language
  const returnAfterSeconds = read('return-after', RULES.returnAfterSeconds, parseReturnAfterSeconds, 'off')
  if (returnAfterSeconds !== undefined) changes.returnAfterSeconds = returnAfterSeconds

  const origins = read('origins', '', (text) => text.split(',').map((origin) => origin.trim()), 'none')
  if (origins !== undefined) changes.origins = readOrigins(origins ?? [], mistakes)
  const widget = read('widget', RULES.widget, parseWidgetAccess)
  if (widget) changes.widget = widget
  const logo = read('logo', '', (file) => file, 'none')
  if (logo !== undefined) changes.logo = logo === null ? null : await readLogo(logo, mistakes)
  return { changes, mistakes }
}

function readOrigins(texts: string[], mistakes: string[]): string[] {
  const origins = texts.map(parseOrigin)
  for (const [index, origin] of origins.entries())
    if (!origin) mistakes.push(`--origins: "${texts[index]}" ${RULES.origin}; none clears them.`)
  const known = [...new Set(origins.filter((origin) => origin !== undefined))]
  if (known.length > MAX_ORIGINS) mistakes.push(`--origins ${RULES.origins}.`)
  return known
}

async function readLogo(file: string, mistakes: string[]): Promise<Logo | null> {
  const wrong = (what: string) => {
    mistakes.push(`--logo: ${file} ${what}`)
    return null
  }
  try {
    const { size } = await stat(file)
    if (size > MAX_LOGO_BYTES)
      return wrong(
        `has ${Math.ceil(size / 1024)} KB; the maximum is 10 KB, for customers on slow networks. Make it at most 320 pixels wide and save it as WebP or PNG, for example with: cwebp -q 80 -resize 320 0 ${file} -o logo.webp`,
      )
    const logo = logoOf(await readFile(file))
    return logo ?? wrong('is not a PNG, JPEG or WebP image. (SVG can contain scripts: save it as PNG or WebP.)')
  } catch (error) {
    return wrong(`cannot be read (${(error as NodeJS.ErrnoException).code}, looked at ${resolve(file)}).`)
  }
}

function describe(settings: BrandingSettings): string {
  const { name, colour, corners, language, logo, returnAfterSeconds, origins, widget } = settings
  const shown = [...name].length > SHOWN_NAME_LENGTH ? ` (the page shows ${SHOWN_NAME_LENGTH} characters)` : ''
  return [
    `name          ${name}${shown}`,
    `colour        ${colour ?? 'default'}`,
    `corners       ${corners}`,
    `language      ${language ?? 'the customer’s'}`,
    `logo          ${logo ? `version ${logo.version}` : 'none, initials instead'}`,
    `return after  ${returnAfterSeconds === null ? 'off' : `${returnAfterSeconds} s`}`,
    `origins       ${origins.join(', ') || 'none: no site may embed the page (in sandbox mode, any localhost)'}`,
    `widget        ${widget === 'strict' ? 'strict: opens only with a token' : 'open: a reference opens it'}`,
  ].join('\n')
}
