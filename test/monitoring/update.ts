// `npm run monitoring`: writes docs/operations/metrics.md and ops/grafana/dashboard.json from src/metrics/list.ts.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dashboard, metricsPage } from './generate.ts'

const root = join(import.meta.dirname, '../..')
writeFileSync(join(root, 'docs/operations/metrics.md'), metricsPage())
writeFileSync(join(root, 'ops/grafana/dashboard.json'), `${JSON.stringify(dashboard(), null, 2)}\n`)
