import { globSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../random.ts'
import type { Tool } from '../tools.ts'

const LIBRARY = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0] ?? '/usr/lib/libfaketimeMT.so.1'
export const CLOCK_TOOL: Tool = { name: 'libfaketime', path: LIBRARY, package: 'libfaketime' }

/** An hour is a jump forward and a shorter one back. */
const JUMPS_SECONDS = [65 * 60, -5 * 60] as const
export const JUMPS_PER_HOUR = JUMPS_SECONDS.length
const MAX_APART_SECONDS = 5 * 60

/**
 * Wall clocks that jump: one for PostgreSQL, and one for each copy that is up to five minutes wrong. The monotonic
 * clock stays true.
 */
export class Clocks {
  jumps = 0
  #databaseSeconds = 0
  readonly #folder: string
  readonly #copies: number
  readonly #random: Random

  constructor(folder: string, copies: number, random: Random) {
    this.#folder = folder
    this.#copies = copies
    this.#random = random
    this.#write()
  }

  /** For a process that has this clock. The library reads the offset from the file again, every second. */
  envOf(clock: 'database' | number): Record<string, string> {
    return {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: this.#fileOf(clock),
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
  }

  jump(): void {
    this.#databaseSeconds += JUMPS_SECONDS[this.jumps++ % JUMPS_PER_HOUR] as number
    this.#write()
  }

  #write(): void {
    this.#set('database', this.#databaseSeconds)
    for (let copy = 0; copy < this.#copies; copy++) {
      this.#set(copy, this.#databaseSeconds + this.#random.between(-MAX_APART_SECONDS, MAX_APART_SECONDS))
    }
  }

  #set(clock: 'database' | number, seconds: number): void {
    const half = `${this.#fileOf(clock)}.new`
    writeFileSync(half, `${seconds < 0 ? '' : '+'}${seconds}\n`)
    renameSync(half, this.#fileOf(clock)) // no process reads half a number
  }

  #fileOf(clock: 'database' | number): string {
    return join(this.#folder, `clock-${clock}`)
  }
}
