import { Html, html } from '../../kernel/html.ts'

export function addTo(here: string, query: string): string {
  return `${here}${here.includes('?') ? '&' : '?'}${query}`
}

export function all(parts: (Html | null)[]): Html {
  return new Html(parts.map((part) => part?.text ?? '').join(''))
}

export function flag(attribute: string, isSet: boolean): Html | null {
  return isSet ? new Html(` ${attribute}`) : null
}

export function attributes(values: Record<string, string | undefined>): Html {
  return all(
    Object.entries(values).map(([name, value]) => (value === undefined ? null : html` ${new Html(name)}="${value}"`)),
  )
}
