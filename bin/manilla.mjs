#!/usr/bin/env node
// `npx manilla …` runs this on the machine's Node; the program runs on the Node that npm installed.
import { spawn, spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const prepared = spawnSync(process.execPath, [join(here, 'bootstrap.mjs'), 'start'], { stdio: 'inherit' })
if (prepared.status !== 0) process.exit(prepared.status ?? 1)

const node = join(here, '../node_modules/.bin/node')
const program = spawn(node, [join(here, '../src/cli/main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' })
// Passes signals on to the program. Ctrl-C in a terminal reaches it twice, which is harmless.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => program.kill(signal))
program.on('exit', (code) => process.exit(code ?? 1))
