import { execFile } from 'node:child_process'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** A command as an operator runs it. Exit code 1 means findings, which the output lists. */
export function manilla(
  { env }: { env: Record<string, string> },
  args: string[],
): Promise<{ code: number; out: string }> {
  return new Promise((resolve, reject) => {
    const options = { env: { PATH: process.env.PATH, ...env }, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, [join(ROOT, 'src/cli/main.ts'), ...args], options, (error, out, stderr) => {
      const code = error ? Number(error.code) : 0
      if (code > 1 || (code === 1 && out === '')) reject(new Error(`manilla ${args.join(' ')}: ${stderr}`))
      else resolve({ code, out })
    })
  })
}
