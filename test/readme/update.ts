// `npm run readme`: writes the tables of the documents that follow from the code.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PAGES_WITH_TABLES, withTables } from './tables.ts'

for (const page of PAGES_WITH_TABLES) {
  const file = join(import.meta.dirname, '../..', page)
  writeFileSync(file, withTables(page, readFileSync(file, 'utf8')))
}
