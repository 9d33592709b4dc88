import { randomFillSync } from 'node:crypto'

// Filling 4 KiB at once is cheaper: a system call per id costs more than the id itself.
const pool = Buffer.allocUnsafe(4096)
let used = pool.length

/** CSPRNG bytes. The buffer is reused: read it before the next call. */
export function pooledRandomBytes(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}

/** A random integer below 2^48. */
export function randomInteger48(): number {
  return pooledRandomBytes(6).readUIntBE(0, 6)
}
