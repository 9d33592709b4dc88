// `npm run gate -- alerts`: checks the alert rules with promtool, and runs their cases. `npm test` does not: promtool
// is no npm package.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../ops/prometheus')
const CHECKS = [
  ['check', 'config', 'prometheus.yml'],
  ['check', 'rules', 'alerts.yml'],
  ['test', 'rules', 'alerts.test.yml'],
]

for (const args of CHECKS) {
  const { error, status } = spawnSync('promtool', args, { cwd: folder, stdio: 'inherit' })
  if (error) {
    console.error('promtool is missing. Debian and Ubuntu: apt-get install prometheus. Others: prometheus.io/download')
    process.exit(1)
  }
  if (status !== 0) process.exit(1)
}
