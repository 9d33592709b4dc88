import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { ProviderAudit } from '../../../src/reconciliation/audit-provider.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** What `manilla audit --provider` finds, run as an operator runs it. `url`: a running copy of the service, which has the sandbox provider in it. */
export async function auditByCommand(env: Record<string, string>, url: string): Promise<string[]> {
  const output = await run(['audit', '--provider', '--json', '--url', url], env)
  const { audits } = JSON.parse(output) as { audits: ProviderAudit[] }
  if (!audits.some(({ agreed }) => agreed > 0)) return ['audit --provider: no transaction was compared']
  return audits.flatMap(({ provider, differences, incomplete }) => [
    ...differences.map(({ transactionId, finding }) => `audit --provider: ${provider} ${transactionId}: ${finding}`),
    ...(incomplete === null ? [] : [`audit --provider: ${provider} was not compared to the end: ${incomplete}`]),
  ])
}

/** Exit code 1 means differences, which the output lists. */
function run(args: string[], env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: { PATH: process.env.PATH, ...env }, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, [join(ROOT, 'src/cli/main.ts'), ...args], options, (error, stdout, stderr) => {
      if (error && error.code !== 1) reject(new Error(`manilla ${args.join(' ')}: ${stderr}`))
      else resolve(stdout)
    })
  })
}
