import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

export interface RunningCommand {
  /** Its output so far. */
  output(): string
  kill(signal: NodeJS.Signals): void
  exited: Promise<number | null>
}

/** `manilla …` as `npm run manilla` runs it. It is killed at the end of the test. */
export function startCommand(args: string[], env: Record<string, string>): RunningCommand {
  const child = spawn(join(ROOT, 'node_modules/.bin/node'), [join(ROOT, 'src/cli/main.ts'), ...args], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  // Waits for the end of the output, which may come after the exit of the process.
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return { output: () => output, kill: (signal) => child.kill(signal), exited }
}

export async function runCommand(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  const running = startCommand(args, env)
  return { code: await running.exited, output: running.output() }
}
