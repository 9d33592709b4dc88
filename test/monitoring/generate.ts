import { EVENT_LOOP_LAG, GROUPS, METRICS, type Metric } from '../../src/metrics/list.ts'

const all: Metric[] = Object.values(METRICS)

/** docs/operations/metrics.md */
export function metricsPage(): string {
  const sections = GROUPS.map((group) => {
    const entries = all.filter((metric) => metric.group === group).map(entryOf)
    return `## ${group}\n\n${entries.join('\n')}\n`
  })
  return `${INTRODUCTION}\n${sections.join('\n')}`
}

const INTRODUCTION = `# Metrics

<!-- Written by \`npm run monitoring\` from src/metrics/list.ts. -->

\`/metrics\` answers in the text format of Prometheus. Do not expose it to the internet. Scrape it every 15 seconds,
with a job called \`manilla\`.

- [ops/prometheus/](../../ops/prometheus/) has an example of a configuration, and the alert rules.
  [Incidents](incidents.md) says what to do for each alert.
- [ops/grafana/dashboard.json](../../ops/grafana/dashboard.json) is a dashboard with every metric below. Import it, and
  choose your Prometheus.
- Queues and cases for a person are read from the database, at most every 5 seconds, and are the same in every process:
  use \`max\`. They are missing while the database does not answer. Everything else is of one process: use \`sum\`. With
  \`WORKERS\`, one scrape has the numbers of all processes of the machine.
- No metric has a merchant, a reference or an address in its labels.
- The metrics of the Node.js process (\`nodejs_…\`, \`process_…\`) are those of prom-client.
  \`${EVENT_LOOP_LAG}\` is the lag of the event loop since the last scrape.
`

function entryOf({ name, type, labels, help }: Metric): string {
  const by = labels.length === 0 ? '' : `, by ${labels.map((label) => `\`${label}\``).join(', ')}`
  return wrap(`- \`${name}\` (${type}${by}): ${help}`)
}

/** Lines of Markdown stay under 120 columns. */
function wrap(text: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line.length + word.length >= 116) lines.push(`  ${word}`)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join('\n')
}

const WIDTH = 24
const HEIGHT = 8
const DATA_SOURCE = { type: 'prometheus', uid: `\${datasource}` }

interface Target {
  expr: string
  legendFormat: string
}

/** ops/grafana/dashboard.json: a row for each group, and a panel for each metric. */
export function dashboard(): unknown {
  const panels: object[] = []
  let y = 0
  for (const group of GROUPS) {
    panels.push({ id: panels.length + 1, type: 'row', title: group, gridPos: { x: 0, y: y++, w: WIDTH, h: 1 } })
    const drawn = all.filter((metric) => metric.group === group).map((metric) => panelOf(metric))
    if (group === 'Process') drawn.push(lagPanel())
    for (const [index, panel] of drawn.entries()) {
      const gridPos = { x: (index % 2) * (WIDTH / 2), y: y + Math.floor(index / 2) * HEIGHT, w: WIDTH / 2, h: HEIGHT }
      panels.push({ id: panels.length + 1, gridPos, ...panel })
    }
    y += Math.ceil(drawn.length / 2) * HEIGHT
  }
  return {
    title: 'Manilla',
    uid: 'manilla',
    tags: ['manilla'],
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
    panels,
  }
}

function panelOf(metric: Metric) {
  const unit = metric.type === 'counter' ? 'ops' : /_seconds$/.test(metric.name) ? 's' : 'short'
  return panel(metric.name, metric.help, unit, targetsOf(metric))
}

function targetsOf({ name, type, labels, drawnBy = labels, of = 'sum' }: Metric): Target[] {
  const by = drawnBy.length === 0 ? '' : ` by (${drawnBy.join(', ')})`
  const legend = drawnBy.map((label) => `{{${label}}}`).join(' ')
  const rate = (series: string) => `rate(${series}[$__rate_interval])`
  if (type === 'counter') return [{ expr: `sum${by} (${rate(name)})`, legendFormat: legend || 'per second' }]
  if (type === 'gauge') return [{ expr: `${of}${by} (${name})`, legendFormat: legend || 'now' }]
  return [0.5, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (${['le', ...drawnBy].join(', ')}) (${rate(`${name}_bucket`)}))`,
    legendFormat: `${legend} p${quantile * 100}`.trim(),
  }))
}

function lagPanel() {
  const help = 'The lag of the event loop: its 99th percentile since the last scrape.'
  return panel(EVENT_LOOP_LAG, help, 's', [{ expr: EVENT_LOOP_LAG, legendFormat: '{{instance}}' }])
}

function panel(title: string, description: string, unit: string, targets: Target[]) {
  return {
    type: 'timeseries',
    title,
    description,
    datasource: DATA_SOURCE,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: targets.map((target, index) => ({ refId: 'AB'[index], ...target })),
  }
}
