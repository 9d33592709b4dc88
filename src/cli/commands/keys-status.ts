import { readConfig } from '../../config/config.ts'
import { listSecretKeys } from '../../database/check-secret-key.ts'
import { countValues } from '../../keys/count-values.ts'
import type { Command } from '../command.ts'
import { print, table } from '../print.ts'
import { openSecrets, withDatabase } from '../with-database.ts'

/** Widgets that are open were sealed with the key of that time, for a day. */
const OVERLAP_MS = 24 * 3_600_000

export const keysStatus: Command = {
  name: 'keys status',
  summary: 'Count the stored values of each encryption key, and say when SECRET_KEY_PREVIOUS can be removed',
  options: {},
  async run(options) {
    const { secrets, known, counts, now } = await withDatabase(async ({ database, clock }) => {
      const box = await openSecrets(readConfig(process.env), database)
      return {
        secrets: box,
        counts: await countValues(database, box),
        known: await listSecretKeys(database),
        now: clock.now(),
      }
    })
    const sum = (name: 'previous' | 'unknown') => counts.reduce((total, count) => total + count[name], 0)
    const [previous, unknown] = [sum('previous'), sum('unknown')]
    const addedAt = known.find(({ keyId }) => keyId === secrets.keyId)?.addedAt ?? now
    const isRotating = secrets.previousKeyId !== undefined
    const isConfirmed = previous === 0 && known.every(({ keyId }) => keyId !== secrets.previousKeyId)
    const removableAt = new Date(addedAt.getTime() + OVERLAP_MS)
    const canBeRemoved = isRotating && isConfirmed && removableAt <= now
    const rows = counts.map(({ kind, ...numbers }) => ({
      kind,
      SECRET_KEY: String(numbers.current),
      SECRET_KEY_PREVIOUS: String(numbers.previous),
      'unknown key': String(numbers.unknown),
    }))
    const says = () => {
      if (!isRotating) return 'SECRET_KEY_PREVIOUS is not set: no rotation is under way.'
      if (previous > 0)
        return `SECRET_KEY_PREVIOUS is needed: ${previous} value(s) are encrypted with it. The worker encrypts them again.`
      if (!isConfirmed)
        return 'SECRET_KEY_PREVIOUS is needed until the worker has looked at all values, which it does at its start and every hour.'
      if (canBeRemoved) return 'SECRET_KEY_PREVIOUS can be removed.'
      return `SECRET_KEY_PREVIOUS can be removed from ${removableAt.toISOString()} on: widgets that are open work until then.`
    }
    const { keyId, previousKeyId = null } = secrets
    const warning = unknown > 0 ? `\n${unknown} value(s) are encrypted with a key that is not set.` : ''
    print(
      options.json,
      { keyId, previousKeyId, counts, canBeRemoved, removableAt: isRotating ? removableAt : null },
      `${table(rows)}\n\n${says()}${warning}`,
    )
    if (unknown > 0) process.exitCode = 1
  },
}
