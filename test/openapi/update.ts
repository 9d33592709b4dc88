// `npm run openapi`: writes openapi.json, unless that would be a breaking change.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeService } from '../../src/compose.ts'
import { breakingChanges } from './breaking-changes.ts'

const file = join(import.meta.dirname, '../../openapi.json')
const now = JSON.parse(JSON.stringify(await describeService()))
const broken = existsSync(file) ? breakingChanges(JSON.parse(readFileSync(file, 'utf8')), now) : []
if (broken.length > 0) {
  process.stderr.write(
    `Not written: /v1 changes by addition only.\n${broken.map((change) => `  ${change}`).join('\n')}\n`,
  )
  process.exitCode = 1
} else {
  writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
}
