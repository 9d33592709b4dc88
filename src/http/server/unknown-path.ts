import { resembles } from '../../kernel/misspelling.ts'

const API = '/payments/v1'
const MAX_LENGTH = 300

/**
 * The path of the merchants' API that was probably meant: `/payments/v1/checkout`, `/v1/checkouts` and `/checkouts` are
 * `/payments/v1/checkouts`. Parameters stay as they were given.
 */
export function nearestPath(path: string, known: Iterable<string>): string | undefined {
  if (path.length > MAX_LENGTH) return undefined
  const given = withoutPrefix(path)
  for (const url of known) {
    const meant = url.startsWith(`${API}/`) ? matched(given, url.slice(API.length + 1).split('/')) : undefined
    if (meant) return `${API}/${meant.join('/')}`
  }
  return undefined
}

/** Of what stands in its place in other APIs, too: `/v1`, `/api/v1`, `/payments/v2`. */
function withoutPrefix(path: string): string[] {
  return path
    .replace(/^\/(api\/)?(payments\/)?(v\d\/)?/i, '')
    .split('/')
    .filter(Boolean)
}

function matched(given: string[], known: string[]): string[] | undefined {
  if (given.length !== known.length) return undefined
  const parts = known.map((name, index) => {
    const part = given[index] ?? ''
    if (name.startsWith(':')) return part
    return part === name || resembles(part, name) ? name : undefined
  })
  return parts.includes(undefined) ? undefined : (parts as string[])
}
