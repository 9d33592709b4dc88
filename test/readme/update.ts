// `npm run readme`: writes the parts of README.md that follow from the code.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withProviderTable } from './provider-table.ts'

const file = join(import.meta.dirname, '../../README.md')
writeFileSync(file, withProviderTable(readFileSync(file, 'utf8')))
