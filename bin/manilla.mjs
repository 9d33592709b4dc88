#!/usr/bin/env node
// `npx manilla …` runs this on the machine's Node; the program itself runs on the Node that it brings along.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const run = (command, args) => spawnSync(command, args, { stdio: 'inherit' }).status ?? 1

const prepared = run(process.execPath, [join(here, 'bootstrap.mjs'), 'start'])
process.exitCode =
  prepared || run(join(here, '../node_modules/.bin/node'), [join(here, '../src/cli/main.ts'), ...process.argv.slice(2)])
