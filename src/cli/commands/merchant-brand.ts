import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseId } from '../../kernel/ids.ts'
import {
  type BrandingSettings,
  CORNERS,
  LANGUAGES,
  MAX_ORIGINS,
  parseColour,
  parseCorners,
  parseLanguage,
  parseOrigin,
  parseReturnAfterSeconds,
  parseWidgetAccess,
  RULES,
  WIDGET_ACCESS,
} from '../../merchants/branding.ts'
import { type Logo, logoOf, MAX_LOGO_BYTES } from '../../merchants/logo.ts'
import { brandMerchant } from '../../merchants/manage-merchants.ts'
import { parseMerchantName } from '../../merchants/merchant.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print } from '../print.ts'
import { actor, withParts } from '../with-parts.ts'

// What the page has room for on a small phone.
const SHOWN_NAME_LENGTH = 40

export const merchantBrand: Command = {
  name: 'merchant brand',
  summary: 'Show or change how a merchant’s payment page looks, and which sites may embed it',
  options: {
    merchant: { value: 'mer_…', summary: 'Which merchant', required: true },
    name: { value: 'NAME', summary: `What customers see; the page shows ${SHOWN_NAME_LENGTH} characters of it` },
    colour: { value: "'#0b6e4f'|none", summary: 'Of the button and the links; none: ours' },
    corners: { value: CORNERS.join('|'), summary: 'Of buttons and fields' },
    language: { value: `${LANGUAGES.join('|')}|none`, summary: 'Unless the link says otherwise; none: the customer’s' },
    logo: { value: 'FILE|none', summary: 'PNG, JPEG or WebP of at most 10 KB; none: initials' },
    'return-after': { value: '0..60|off', summary: 'Seconds until a paid page goes back to the shop' },
    origins: { value: 'https://a.example,…|none', summary: 'All sites that may show the page in a frame' },
    widget: { value: WIDGET_ACCESS.join('|'), summary: 'What opens it: a reference; strict: only with a token' },
  },
  async run(options) {
    const merchantId = parseId('merchant', options.text('merchant') ?? '')
    const { changes, mistakes } = await readChanges(options)
    if (!merchantId) mistakes.unshift('--merchant must be an id like mer_…; see: manilla merchant list')
    if (!merchantId || mistakes.length > 0) throw new UsageError(mistakes.join('\n'))
    const settings = await withParts((parts) => brandMerchant(parts, actor(), merchantId, changes))
    const done = Object.keys(changes).length > 0 ? '\n\nEvery process shows it within 2 s.' : ''
    print(options.json, { merchantId, ...settings }, describe(settings) + done)
  },
}

type Changes = Parameters<typeof brandMerchant>[3]

/** What is asked for, and all that is wrong with it. */
async function readChanges(options: Options): Promise<{ changes: Changes; mistakes: string[] }> {
  const changes: Changes = {}
  const mistakes: string[] = []

  /** `clear`: the word that takes the choice back. */
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
        `has ${Math.ceil(size / 1024)} KB, and 10 KB is the most: customers on slow networks wait for it. Make it at most 320 pixels wide and save it as WebP or PNG, for example with: cwebp -q 80 -resize 320 0 ${file} -o logo.webp`,
      )
    const logo = logoOf(await readFile(file))
    return logo ?? wrong('is not a PNG, JPEG or WebP picture. (An SVG can carry scripts: save it as PNG or WebP.)')
  } catch (error) {
    return wrong(`cannot be read (${(error as NodeJS.ErrnoException).code}, looked at ${resolve(file)}).`)
  }
}

function describe(settings: BrandingSettings): string {
  const { name, colour, corners, language, logo, returnAfterSeconds, origins, widget } = settings
  const shown = [...name].length > SHOWN_NAME_LENGTH ? ` (the page shows ${SHOWN_NAME_LENGTH} characters)` : ''
  return [
    `name          ${name}${shown}`,
    `colour        ${colour ?? 'ours'}`,
    `corners       ${corners}`,
    `language      ${language ?? 'the customer’s'}`,
    `logo          ${logo ? `version ${logo.version}` : 'none, initials instead'}`,
    `return after  ${returnAfterSeconds === null ? 'off' : `${returnAfterSeconds} s`}`,
    `origins       ${origins.join(', ') || 'none: no site may embed the page (in sandbox mode, any localhost)'}`,
    `widget        ${widget === 'strict' ? 'strict: opens only with a token' : 'open: a reference opens it'}`,
  ].join('\n')
}
