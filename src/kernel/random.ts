import { randomFillSync } from 'node:crypto'

// One call to the operating system fills many ids: a call per id costs more than the id itself.
const pool = Buffer.allocUnsafe(4096)
let used = pool.length

/** Bytes from the CSPRNG. The result is only valid until the next call, so read it at once. */
export function randomBytesFast(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}

export function randomBelow2to48(): number {
  return randomBytesFast(6).readUIntBE(0, 6)
}
