import type { System as SystemState } from '../../answers.ts'
import { useData } from '../../components/data.ts'
import { List } from '../../components/list.tsx'
import { ProblemPanel } from '../../components/problem.tsx'
import { Section } from '../../components/screen.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/values.tsx'

const MAX_COUNTED = 1_000
/** A queue is read every second, so older work shows that the workers cannot keep up, or do not run. */
const LATE_MS = 60_000

export function System() {
  const query = useData<SystemState>('/operator/system')
  const { data, error, refetch } = query
  const refresh = (
    <button type="button" aria-busy={query.isFetching} onClick={() => void refetch()}>
      Refresh
    </button>
  )
  if (!data)
    return (
      <Section title="System">
        {error ? <ProblemPanel error={error} retry={refetch} /> : <p class="late">Loading …</p>}
      </Section>
    )
  const { database, queues } = data
  return (
    <>
      <Section title="System" actions={refresh}>
        <dl class="details">
          <dt>Version</dt>
          <dd>{data.version}</dd>
          <dt>Database</dt>
          <dd>
            PostgreSQL {database.version}, {bytes(database.sizeBytes)}
          </dd>
          <dt>Migrations</dt>
          <dd>
            <Migrations {...database} />
          </dd>
          <dt>Webhook senders</dt>
          <dd>
            {data.workers > 0 ? (
              <Status tone="good">{data.workers === 1 ? '1 process' : `${data.workers} processes`}</Status>
            ) : (
              <Status tone="bad">None runs</Status>
            )}
          </dd>
        </dl>
      </Section>
      <Section title="Queues" about="Work that is due. The workers look every second.">
        <List
          label="Queues"
          query={{ ...query, rows: QUEUES.map(([key, name]) => ({ name, ...queues[key] })) }}
          keyOf={({ name }) => name}
          hasTimes
          columns={[
            { name: 'Queue', show: ({ name }) => <span class="cell-main">{name}</span> },
            { name: 'Waiting', kind: 'money', show: ({ due }) => (due > MAX_COUNTED ? 'more than 1,000' : due) },
            { name: 'Oldest due', show: ({ oldestAt }) => <Time at={oldestAt} none="Nothing is due" /> },
            {
              name: 'State',
              show: ({ oldestAt }) =>
                oldestAt !== null && query.dataUpdatedAt - Date.parse(oldestAt) > LATE_MS ? (
                  <Status tone="attention">Behind by {age(query.dataUpdatedAt - Date.parse(oldestAt))}</Status>
                ) : (
                  <Status tone="good">On time</Status>
                ),
            },
          ]}
          empty={{ title: '', text: '' }}
        />
      </Section>
      <Section title="Largest tables" about="PostgreSQL estimates the number of rows.">
        <List
          label="Largest tables"
          query={{ ...query, rows: database.tables }}
          keyOf={({ name }) => name}
          columns={[
            { name: 'Table', show: ({ name }) => <code>{name}</code> },
            { name: 'Rows', kind: 'money', show: ({ rows }) => rows.toLocaleString('en') },
            { name: 'Size', kind: 'money', show: ({ sizeBytes }) => bytes(sizeBytes) },
          ]}
          empty={{ title: '', text: '' }}
        />
      </Section>
      <Section
        title="Operators"
        about="They see all merchants. The command line grants and withdraws this: manilla member operator."
      >
        <List
          label="Operators"
          query={{ ...query, rows: data.operators }}
          keyOf={({ id }) => id}
          hasTimes
          columns={[
            {
              name: 'Name',
              show: ({ name, email }) => (
                <div>
                  <div class="cell-main">{name}</div>
                  <div class="cell-more">{email}</div>
                </div>
              ),
            },
            {
              name: 'Second factor',
              show: ({ secondFactor }) =>
                secondFactor ? <Status tone="good">On</Status> : <Status tone="attention">Off</Status>,
            },
            { name: 'Last visit', show: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
          ]}
          empty={{ title: 'No operators', text: 'Name one on the command line.' }}
        />
      </Section>
    </>
  )
}

const QUEUES = [
  ['deliveries', 'Webhook deliveries'],
  ['checks', 'Checks of attempts'],
  ['notices', 'Notices of providers'],
  ['refunds', 'Refunds'],
  ['expiries', 'Payments to expire'],
] as const

function Migrations({ migrations, knownMigrations }: SystemState['database']) {
  const last = migrations.at(-1)
  return (
    <>
      {migrations.length === knownMigrations ? (
        <Status tone="good">
          {migrations.length} of {knownMigrations} applied
        </Status>
      ) : (
        <Status tone="attention">
          {migrations.length} applied, this version has {knownMigrations}
        </Status>
      )}
      {last && (
        <div class="cell-more">
          Last: {last.name}, <Time at={last.appliedAt} />
        </div>
      )}
    </>
  )
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']

function bytes(count: number): string {
  const power = Math.min(Math.floor(Math.log(Math.max(count, 1)) / Math.log(1024)), UNITS.length - 1)
  const value = count / 1024 ** power
  return `${value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })} ${UNITS[power]}`
}

function age(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} days`
}
