import assert from 'node:assert/strict'

type Form = { [name: string]: Form | string }

/**
 * `a[b]=1&c[0][d]=2&e[]=3` as `{ a: { b: '1' }, c: [{ d: '2' }], e: ['3'] }`, the way Stripe reads bodies and queries.
 */
export function readForm(text: string): unknown {
  const root: Form = {}
  let unnumbered = 0
  for (const [name, value] of new URLSearchParams(text)) {
    const [, first, rest] = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name) ?? assert.fail(`${name} cannot be read`)
    const inner = [...(rest ?? '').matchAll(/\[([^[\]]*)\]/g)].map(([, key]) => key || `#${unnumbered++}`)
    const path = [first ?? '', ...inner]
    let at = root
    for (const key of path.slice(0, -1)) {
      const next = at[key] ?? {}
      at[key] = next
      assert(typeof next === 'object', `${name} is both a value and a group`)
      at = next
    }
    const last = path.at(-1) ?? ''
    assert(!Object.hasOwn(at, last), `${name} is there twice`)
    at[last] = value
  }
  return withLists(root)
}

/** A group whose keys are 0, 1, 2 … or empty is a list. */
function withLists(value: Form | string): unknown {
  if (typeof value === 'string') return value
  const keys = Object.keys(value)
  const isList = keys.length > 0 && keys.every((key, index) => key.startsWith('#') || key === String(index))
  if (isList) return Object.values(value).map(withLists)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withLists(member)]))
}
