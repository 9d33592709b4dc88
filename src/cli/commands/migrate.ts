import { openDeps } from '../../compose.ts'
import { readConfig } from '../../config/config.ts'
import { migrate } from '../../database/migrate.ts'
import type { Command } from '../command.ts'
import { print } from '../print.ts'
import { requireDatabase } from '../with-database.ts'

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Apply missing database migrations (serve does it too)',
  options: {},
  async run(options) {
    const config = readConfig(process.env)
    requireDatabase(config)
    const deps = await openDeps(config, 'join')
    try {
      const applied = await migrate(deps.directUrl)
      print(
        options.json,
        { applied },
        applied.length > 0 ? `Applied: ${applied.join(', ')}` : 'The database is up to date.',
      )
    } finally {
      await deps.close()
    }
  },
}
