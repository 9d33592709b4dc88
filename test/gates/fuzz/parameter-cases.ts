import type { ParameterSchema, Route } from './route-table.ts'

/** Extreme and malformed values, as they stand in a URL. */
const VALUES = [
  ...['', '%20', '%00', 'a%00b', '%ff', '%c3%28', '%ed%a0%80', '%', '%zz', '100%'],
  ...[
    '0',
    '-1',
    '00',
    '1.5',
    '1e309',
    '9223372036854775808',
    '-9223372036854775809',
    '9'.repeat(40),
    'NaN',
    'Infinity',
  ],
  ...['0000-01-01', '0001-01-01', '1900-01-01', '1970-01-01', '2000-01-01', '2026-02-30', '2026-13-45', '2100-12-31'],
  ...['9999-12-31', '%2B010000-01-01', '-000001-01-01', '99999-01-01', '9999-12-31T23:59:59-23:59', '2026-11-15'],
  ...['0000-01-01T00:00:00%2B23:59', '2026-11-15T24:00:00Z', '275760-09-13'],
  ...[
    'UTC',
    'Africa/Lagos',
    'Asia/Kolkata',
    'Australia/Lord_Howe',
    'Etc/GMT%2B12',
    'Pacific/Apia',
    'Moon/Base',
    '%2B01:00',
  ],
  ...['true', 'null', 'undefined', '__proto__', 'constructor', '[]', '%7B%7D', '%2e%2e%2f%2e%2e%2fetc%2fpasswd', '*'],
  ...[
    "'%20or%201=1--",
    '%25',
    '%5C',
    '%22',
    '%3Cscript%3E',
    '%F0%9F%92%A9',
    '%E2%80%AE',
    '%0d%0aX-Injected:1',
    '=1%2B1',
  ],
  ...[
    'ada@example.com',
    '@',
    `${'a'.repeat(60)}@`,
    'a'.repeat(300),
    'a'.repeat(7_000),
    '%20'.repeat(2_000),
    '%2F'.repeat(500),
  ],
  ...['chk_', `chk_${'1'.repeat(24)}`, `chk_${'z'.repeat(24)}`, `mer_${'z'.repeat(22)}`, `lnk_11${'z'.repeat(22)}`],
  ...['YWZ0ZXI6', 'YWZ0ZXI6Y2hrXzExMTExMTExMTExMTExMTExMTExMTExMQ', '999999999999999', '9999999999999999'],
  ...[
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    `9999999999999999.${'ffffffff-ffff-ffff-ffff-ffffffffffff.'.repeat(2).slice(0, -1)}`,
  ],
]

/** How a value is repeated in a query. */
const SHAPES: readonly ((name: string, value: string) => string)[] = [
  (name, value) => `${name}=${value}`,
  (name, value) => `${name}=${value}&${name}=${value}`,
  (name, value) => `${name}[]=${value}`,
  (name, value) => `${name}[a][b]=${value}`,
]

const UNKNOWN = 'unknown'

const NO_TEXT = '%00'
/** Above all for all days of a route together: a range that ends with the calendar. */
const LAST_DAY = '9999-12-31'

export interface ParameterCase {
  method: string
  target: string
  route: string
  /** What was changed: names of parameters. */
  names: string
  /** Values that have stopped the service before. No run leaves them out. */
  isKnownKiller?: true
}

/** Values for the parameters of paths, by the segment before a parameter and its name, or by its name. */
export type KnownObjects = Record<string, string>

/**
 * For a route: each parameter of its path and query with each value, and parameters of the same schema together (`from`
 * and `to`), with good values for those that are required besides; then all of them at once.
 */
export function casesOf(route: Route, objects: KnownObjects): ParameterCase[] {
  const { method, url } = route
  const base = { method, route: `${method} ${url}` }
  const good = requiredOf(route)
  const goodPath = pathWith(url, objects)
  const goodQuery = queryOf(good)
  const cases: ParameterCase[] = [{ ...base, names: 'none', target: goodPath + goodQuery }]
  for (const name of namesInPath(url))
    for (const value of VALUES)
      cases.push({
        ...{ ...base, names: `:${name}`, target: pathWith(url, objects, { name, value }) + goodQuery },
        ...(value === NO_TEXT && { isKnownKiller: true }),
      })
  for (const names of groupsOf(route)) {
    const others = good.filter(([name]) => !names.includes(name))
    // A parameter that no route knows is refused or ignored, whatever it is.
    const values = names.join() === UNKNOWN ? VALUES.slice(0, 10) : VALUES
    for (const [index, value] of values.entries())
      for (const [place, shape] of SHAPES.entries()) {
        if (place > 0 && index % 8 !== 0) break
        const changed = names.map((name) => shape(name, value))
        const pairs = [...others.map(([name, text]) => `${name}=${text}`), ...changed].join('&')
        const isKnownKiller = place === 0 && (value === NO_TEXT || value === LAST_DAY)
        cases.push({
          ...{ ...base, names: names.join(', '), target: `${goodPath}?${pairs}` },
          ...(isKnownKiller && { isKnownKiller }),
        })
      }
  }
  return cases
}

function groupsOf({ query }: Route): string[][] {
  const names = [...Object.keys(query), UNKNOWN]
  const alike = [...Map.groupBy(names, (name) => JSON.stringify(query[name], withoutTexts)).values()]
  const days = names.filter((name) => isDay(query[name]))
  const groups = [...names.map((name) => [name]), ...alike, ...(days.length > 0 ? [days] : []), names]
  return [...new Map(groups.map((group) => [group.join(' '), group])).values()]
}

function isDay(schema: ParameterSchema | undefined): boolean {
  return schema?.format === 'day' || schema?.format === 'moment'
}

const withoutTexts = (key: string, value: unknown) => (key === 'description' || key === 'examples' ? undefined : value)

function requiredOf({ query, required }: Route): [name: string, value: string][] {
  return required.map((name) => [name, goodValue(query[name] ?? {})])
}

function goodValue({ enum: words, format = '', pattern }: ParameterSchema): string {
  const byFormat: Record<string, string> = {
    day: '2026-11-15',
    moment: '2026-11-15',
    'page-size': '5',
    'e-mail': 'a@b.co',
  }
  const matching = pattern === undefined ? undefined : VALUES.findLast((value) => new RegExp(pattern, 'u').test(value))
  return words?.[0] ?? byFormat[format] ?? matching ?? 'UTC'
}

function queryOf(pairs: [name: string, value: string][]): string {
  return pairs.length === 0 ? '' : `?${pairs.map((pair) => pair.join('=')).join('&')}`
}

/** `:name` parameters, and `*`. */
const IN_PATH = /(?:([\w-]+)\/)?(?::(\w+)|(\*))/g

function namesInPath(url: string): string[] {
  return [...url.matchAll(IN_PATH)].map(([, , name, star]) => name ?? star ?? '')
}

function pathWith(url: string, objects: KnownObjects, changed?: { name: string; value: string }): string {
  return url.replaceAll(IN_PATH, (_, folder: string | undefined, name = '*') => {
    const own = objects[`${folder}/${name}`] ?? objects[name] ?? 'none'
    return `${folder === undefined ? '' : `${folder}/`}${changed?.name === name ? changed?.value : own}`
  })
}
