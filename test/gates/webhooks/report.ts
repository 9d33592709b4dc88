export interface Part {
  title: string
  events: number
  rows: [string, string | number][]
  faults: string[]
  clean: boolean
}

export function printPart({ title, rows, faults, clean }: Part): string {
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`)
  const wrong = faults.slice(0, 10).map((fault) => `  FAILED  ${fault}`)
  return [title, ...lines, ...wrong, `  ${clean ? 'clean' : 'NOT CLEAN'}`].join('\n')
}

export function mustBeNone(count: number): string {
  return count === 0 ? '0' : `${count}  FAILED, must be 0`
}

export function mustBeWithin(value: number, most: number, unit: string): string {
  return `${value.toFixed(0)} ${unit}${value <= most ? '' : `  FAILED, must be at most ${most}`}`
}
