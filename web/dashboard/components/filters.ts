import { useSearchParams } from 'wouter-preact'

/**
 * The filters and the page of a list, kept in the address, so that a link or the back button shows the same rows. Every
 * change of a filter starts at the first page.
 */
export function useFilters<Name extends string>(...names: Name[]) {
  const [params, setParams] = useSearchParams()
  const values = Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as Record<Name, string>
  const set = (changes: { [Each in Name | 'cursor']?: string }) =>
    setParams((before) => {
      const next = new URLSearchParams(before)
      next.delete('cursor')
      for (const [name, value] of Object.entries<string | undefined>(changes)) {
        if (value) next.set(name, value)
        else next.delete(name)
      }
      return next
    })
  return {
    values,
    cursor: params.get('cursor') ?? undefined,
    isFiltered: names.some((name) => values[name] !== ''),
    set,
    clear: () => set(Object.fromEntries(names.map((name) => [name, ''])) as Parameters<typeof set>[0]),
  }
}
