// `npm run openapi`: writes docs/openapi.json and the types of the client library, unless that would be a breaking
// change.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeService } from '../../src/compose.ts'
import { breakingChanges } from './breaking-changes.ts'
import { clientTypes, widgetTypes } from './client-types.ts'
import { emittedClients } from './emitted-clients.ts'

const root = join(import.meta.dirname, '../..')
const file = join(root, 'docs/openapi.json')
const now = JSON.parse(JSON.stringify(await describeService()))
const broken = existsSync(file) ? breakingChanges(JSON.parse(readFileSync(file, 'utf8')), now) : []
if (broken.length > 0) {
  process.stderr.write(
    `Not written: /v1 changes by addition only.\n${broken.map((change) => `  ${change}`).join('\n')}\n`,
  )
  process.exitCode = 1
} else {
  writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
  const client = join(root, 'clients/typescript/src')
  writeFileSync(join(client, 'api-types.ts'), clientTypes(now))
  const widget = readFileSync(join(root, 'web/widget/types.d.ts'), 'utf8')
  writeFileSync(join(client, 'widget-types.ts'), widgetTypes(widget))
  for (const [name, text] of emittedClients(now)) writeFileSync(join(root, name), text)
}
