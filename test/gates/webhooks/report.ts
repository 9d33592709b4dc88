import { printRows } from '../report.ts'

export interface Part {
  title: string
  events: number
  rows: [string, string | number][]
  faults: string[]
  clean: boolean
}

export function printPart({ title, rows, faults, clean }: Part): string {
  return `${printRows(title, rows, faults, 10)}\n  ${clean ? 'clean' : 'NOT CLEAN'}`
}

export function mustBeWithin(value: number, most: number, unit: string): string {
  return `${value.toFixed(0)} ${unit}${value <= most ? '' : `  FAILED, must be at most ${most}`}`
}
