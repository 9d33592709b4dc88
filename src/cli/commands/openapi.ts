import { describeService } from '../../compose.ts'
import type { Command } from '../command.ts'

export const openapi: Command = {
  name: 'openapi',
  summary: 'Print the OpenAPI 3.1 document of the API',
  options: {},
  async run() {
    process.stdout.write(`${JSON.stringify(await describeService(), null, 2)}\n`)
  },
}
