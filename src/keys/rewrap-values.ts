import type { Logger } from 'pino'
import { retirePreviousKey } from '../database/check-secret-key.ts'
import type { Database } from '../database/database.ts'
import { keyIdOf, type SecretBox } from '../kernel/secret-box.ts'
import { SEALED_TABLES, type SealedRow, type SealedTable } from './sealed-tables.ts'
import { beforeFirst, keyOf, type Replacement, readOthers, replaceValues } from './sealed-value-store.ts'

interface Deps {
  database: Database
  secrets: SecretBox
  log: Logger
}

/** Rows of one step. With notices of 2 KB it takes 30 ms on a busy machine of two cores, 41 ms at most. */
const STEP = 50

/**
 * Encrypts every stored value with SECRET_KEY that is still encrypted with SECRET_KEY_PREVIOUS. Each call is one step
 * through the tables, by primary key; true when there are further steps. Several processes may do it at once: a value
 * is replaced only if it is still the one that was read.
 */
export function valueRewrapper(deps: Deps, tables = SEALED_TABLES): () => Promise<boolean> {
  const { database, secrets, log } = deps
  const start = () => ({ table: 0, after: beforeFirst(tables[0] as SealedTable), changed: 0, unreadable: 0 })
  let pass = start()

  return async () => {
    const sealed = tables[pass.table] as SealedTable
    const rows = await readOthers(database, sealed, { after: pass.after, limit: STEP, keyId: secrets.keyId })
    for (const column of sealed.columns) {
      const stale = rows.filter((row) => row[column] !== null)
      const replacements = stale.flatMap((row) => rewrap(deps, sealed, column, row) ?? [])
      const replaced = replacements.length > 0 ? await replaceValues(database, sealed, column, replacements) : 0
      pass.unreadable += stale.length - replacements.length
      pass.changed += replacements.length - replaced
    }
    const last = rows.length === STEP ? rows.at(-1) : undefined
    if (last) {
      pass.after = keyOf(sealed, last)
      return true
    }
    const next = tables[pass.table + 1]
    if (next) {
      pass = { ...pass, table: pass.table + 1, after: beforeFirst(next) }
      return true
    }
    const { changed, unreadable } = pass
    pass = start()
    if (unreadable > 0) log.error({ count: unreadable }, 'values are encrypted with a key that is not set')
    else if (changed === 0 && (await retirePreviousKey(database, secrets)))
      log.info('all values are encrypted with SECRET_KEY')
    return changed > 0 // other processes changed values during this pass, so another pass is needed
  }
}

/** Undefined when the value cannot be read. */
function rewrap({ secrets }: Deps, sealed: SealedTable, column: string, row: SealedRow): Replacement | undefined {
  const before: Buffer = row[column]
  if (keyIdOf(before) !== secrets.previousKeyId) return undefined
  const context = sealed.contextOf(row)
  try {
    return { row, before, after: secrets.seal(secrets.open(before, context), context) }
  } catch {
    return undefined
  }
}
