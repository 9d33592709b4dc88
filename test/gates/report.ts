/** A title, rows of a name and a value, and the first of the differences. */
export function printRows(title: string, rows: [string, string | number][], failed: string[], most = 30): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  return [
    title,
    ...rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    ...failed.slice(0, most).map((each) => `  FAILED  ${each}`),
  ].join('\n')
}

export function mustBeNone(count: number): string {
  return count === 0 ? '0' : `${count}  FAILED, must be 0`
}

/** What is in the first list and not in the second. One that is there twice must be there twice. */
export function minus(all: string[], others: string[]): string[] {
  const left = new Map([...Map.groupBy(others, (each) => each)].map(([each, same]) => [each, same.length]))
  return all.filter((each) => {
    const count = left.get(each) ?? 0
    left.set(each, count - 1)
    return count < 1
  })
}
