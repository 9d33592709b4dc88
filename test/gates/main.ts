// `npm run gate -- crash [arguments]`: runs one gate of gates.ts. `npm run gate` prints them.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { GATES } from './gates.ts'

const ROOT = join(import.meta.dirname, '../..')
const [name, ...args] = process.argv.slice(2)
const gate = GATES.find((each) => each.name === name)

if (gate) {
  const { runs, env, needs } = gate
  process.chdir(ROOT)
  if (needs === 'test') {
    const { status } = spawnSync(process.execPath, ['bin/bootstrap.mjs', 'test'], { stdio: 'inherit' })
    if (status !== 0) process.exit(status ?? 1)
  }
  const files = runs.flatMap((each) => (each.includes('*') ? globSync(each).sort() : each))
  // In place of this process, so that signals and the exit code are those of the gate.
  process.execve?.(process.execPath, [process.execPath, ...files, ...args], { ...process.env, ...env })
}

const width = Math.max(...GATES.map((each) => each.name.length))
const lines = GATES.map(({ name, proves, takes }) => `  ${name.padEnd(width)}  ${proves} (${takes})`)
const unknown = name === undefined ? '' : `There is no gate "${name}".\n`
process.stdout.write(`${unknown}npm run gate -- NAME [arguments]\n${lines.join('\n')}\n`)
process.exitCode = name === undefined ? 0 : 2
