import type { Scope } from '../kernel/scope.ts'
import {
  type Brand,
  CORNERS,
  type Corners,
  LANGUAGES,
  type Language,
  WIDGET_ACCESS,
  type WidgetAccess,
} from './brand.ts'

/** A merchant as customers see it: its name, its brand, and the sites that may show its payment page in a frame. */
export interface Branding extends Scope {
  name: string
  suspended: boolean
  brand: Brand
  /** As browsers serialize them (`https://shop.example`). The port of a localhost origin may be `*`. */
  origins: string[]
  widget: WidgetAccess
}

/** The part that a merchant sets, the same in both modes. */
export type BrandingSettings = Pick<Branding, 'name' | 'origins' | 'widget'> & Brand

export const DEFAULT_RETURN_AFTER_SECONDS = 5
export const MAX_RETURN_AFTER_SECONDS = 60
export const MAX_ORIGINS = 20

/** The rule for each setting, for error messages. */
export const RULES = {
  name: 'must have 1 to 200 characters, on one line',
  colour: 'must be six hexadecimal digits, like #0b6e4f',
  corners: `must be one of ${CORNERS.join(', ')}`,
  language: `must be one of ${LANGUAGES.join(', ')}`,
  returnAfterSeconds: `must be a whole number of seconds from 0 to ${MAX_RETURN_AFTER_SECONDS}`,
  widget: `must be one of ${WIDGET_ACCESS.join(', ')}`,
  origins: `must be at most ${MAX_ORIGINS} origins`,
  origin:
    'must be an origin, like https://shop.example or http://localhost:* (http for this machine only), without a path',
} as const

/** The `#` is optional, because a shell reads it as a comment. Three digits are expanded to six, as in CSS. */
export function parseColour(text: string): string | undefined {
  const digits = /^#?([0-9a-f]{6}|[0-9a-f]{3})$/i.exec(text)?.[1]?.toLowerCase()
  if (digits === undefined) return undefined
  return `#${digits.length === 3 ? digits.replaceAll(/./g, '$&$&') : digits}`
}

export function parseCorners(text: string): Corners | undefined {
  return CORNERS.find((each) => each === text)
}

export function parseLanguage(text: string): Language | undefined {
  return LANGUAGES.find((each) => each === text)
}

export function parseReturnAfterSeconds(text: string): number | undefined {
  return /^\d{1,2}$/.test(text) && Number(text) <= MAX_RETURN_AFTER_SECONDS ? Number(text) : undefined
}

export function parseWidgetAccess(text: string): WidgetAccess | undefined {
  return WIDGET_ACCESS.find((each) => each === text)
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1']

/**
 * An origin as browsers serialize it. The host has only letters, digits, `-` and `.`: it becomes part of a
 * Content-Security-Policy header, where `;` would start another directive. IPv6 addresses are not supported there.
 */
export function parseOrigin(text: string): string | undefined {
  const [, plain = text, anyPort = ''] = /^(.*)(:\*)$/.exec(text) ?? []
  if (!/^https?:\/\/[^/\\?#@\s*]+\/?$/i.test(plain)) return undefined
  const url = URL.parse(plain)
  if (!url || !/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(url.hostname)) return undefined
  const isLocal = LOCAL_HOSTS.includes(url.hostname)
  if (!isLocal && (url.protocol !== 'https:' || anyPort)) return undefined
  if (anyPort && /:\d*\/?$/.test(plain)) return undefined
  return url.origin + anyPort
}

// Developers test on their own machine, on any port.
const SANDBOX_SOURCES = ['http://localhost:*', 'http://127.0.0.1:*', 'https://localhost:*']

/** Whether a page of that origin may embed this merchant's payment page in a frame and receive its messages. */
export function allowsOrigin(branding: Pick<Branding, 'mode' | 'origins'>, origin: string): boolean {
  return sourcesOf(branding).some((source) => {
    if (!source.endsWith(':*')) return source === origin
    const host = source.slice(0, -2)
    return origin === host || (origin.startsWith(`${host}:`) && /^\d{1,5}$/.test(origin.slice(host.length + 1)))
  })
}

/** The same rule as the `frame-ancestors` value of a Content-Security-Policy. */
export function frameAncestors(branding: Pick<Branding, 'mode' | 'origins'>): string {
  return sourcesOf(branding).join(' ') || "'none'"
}

function sourcesOf({ mode, origins }: Pick<Branding, 'mode' | 'origins'>): string[] {
  return mode === 'sandbox' ? [...new Set([...origins, ...SANDBOX_SOURCES])] : origins
}
