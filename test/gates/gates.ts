/** A proof that is too slow, or needs too much, for `npm test`. */
export interface Gate {
  /** `npm run gate -- NAME`. */
  name: string
  /** What holds when it passes. In Markdown. */
  proves: string
  /** A program and its arguments, from the root of the repository. Those with a `*` are patterns of files. */
  runs: [string, ...string[]]
  /** Environment that it runs with. */
  env?: Record<string, string>
  /** Purpose of bin/bootstrap.mjs: `test` needs a browser as well. */
  needs: 'dev' | 'test'
  /** How long it takes, roughly, without arguments. */
  takes: string
}

/** The only list of them: `npm run gate` prints it, and `npm run readme` writes it into CONTRIBUTING.md. */
export const GATES: readonly Gate[] = [
  {
    name: 'processes',
    proves: 'real processes of the service and the command line, and the snippets of the docs',
    ...{ runs: ['test/run.ts', 'test/processes/*.test.ts'], needs: 'test', takes: '4 min' },
  },
  {
    name: 'browser',
    proves: 'every state of the payment page, the widget and the demo shop in a real browser',
    ...{ runs: ['test/run.ts', 'test/browser/thorough/*.test.ts'], needs: 'test', takes: '10 min' },
  },
  {
    name: 'providers',
    proves: 'money, failover and secrets with the fake of every real provider; weeks, crowds and guessed passwords',
    ...{ runs: ['test/run.ts', 'test/journeys/thorough/*.test.ts'], needs: 'test', takes: '4 min' },
  },
  {
    name: 'contracts',
    proves: 'every request to Paystack and Stripe against their descriptions, and starts at the others',
    ...{ runs: ['test/contracts/main.ts'], needs: 'dev', takes: '10 s' },
  },
  {
    name: 'fuzz',
    proves: 'broken and hostile requests get an answer below 500; `--only parameters` or `abuse`: one part',
    ...{ runs: ['test/gates/fuzz/main.ts'], needs: 'dev', takes: '10 min' },
  },
  {
    name: 'crash',
    proves: '`kill -9` and restarts of PostgreSQL under load: nothing acknowledged is lost or doubled',
    ...{ runs: ['test/gates/crash/main.ts'], needs: 'dev', takes: '5 min' },
  },
  {
    name: 'webhooks',
    proves: '`kill -9` and failing endpoints: no event is lost',
    ...{ runs: ['test/gates/webhooks/main.ts'], needs: 'dev', takes: '5 min' },
  },
  {
    name: 'provider-chaos',
    proves: 'faults and `kill -9` at each provider, then 60 simulated days: ledgers agree; `--hours`: clocks jump',
    ...{ runs: ['test/gates/provider-chaos/main.ts'], needs: 'dev', takes: '40 min' },
  },
  {
    name: 'restore-drill',
    proves: "point-in-time restore after a disaster, repaired from the provider's list",
    ...{ runs: ['test/gates/restore-drill/main.ts'], needs: 'dev', takes: '1 min' },
  },
  {
    name: 'failover',
    proves: 'PostgreSQL with Patroni loses its primary under load (root); `PGBOUNCER` adds the pooler',
    ...{ runs: ['test/gates/failover/main.ts'], needs: 'dev', takes: '15 min' },
  },
  {
    name: 'upgrade',
    proves: 'an old version (`--from <commit>`) and this one on one database, replaced both ways',
    ...{ runs: ['test/gates/upgrade/main.ts'], needs: 'dev', takes: '1 min' },
  },
  {
    name: 'proof',
    proves: 'the gates at release size, resumable; writes [docs/proof.md](docs/proof.md); `--quick`: small',
    ...{ runs: ['test/gates/proof/main.ts'], needs: 'dev', takes: 'days' },
  },
  {
    name: 'growth',
    proves: 'speed with many payments, disk per payment, retention under load',
    ...{ runs: ['bench/growth/main.ts'], needs: 'dev', takes: '20 min' },
  },
  {
    name: 'scale',
    proves: 'statements, claims and pauses on tables with a million rows',
    ...{ runs: ['test/run.ts', 'test/scale/*.test.ts'], needs: 'test', takes: '5 min' },
  },
  {
    name: 'pgbouncer',
    proves: 'the journeys through PgBouncer in transaction mode (1.21 or newer; `PGBOUNCER` names it)',
    runs: ['test/run.ts', 'test/journeys/*.test.ts', 'test/pgbouncer/*.test.ts'],
    ...{ env: { PGBOUNCER: process.env.PGBOUNCER || 'pgbouncer' }, needs: 'test', takes: '5 min' },
  },
  {
    name: 'roles',
    proves: 'the journeys, with `ROLE=worker` in a process of its own where a test needs a worker',
    runs: ['test/run.ts', 'test/journeys/*.test.ts'],
    ...{ env: { TEST_ROLES: 'apart' }, needs: 'test', takes: '5 min' },
  },
  {
    name: 'shops',
    proves: 'a real Vendure, Medusa and Next.js from npm sell with our packages; `SHOPS_FOLDER` keeps them',
    ...{ runs: ['test/run.ts', 'test/shops/*.test.ts'], needs: 'test', takes: '10 min' },
  },
  {
    name: 'clients',
    proves: 'the clients for TypeScript, PHP and Python pass one suite, and the samples of each language sell',
    ...{ runs: ['test/gates/clients/main.ts'], needs: 'dev', takes: '3 min' },
  },
  {
    name: 'live',
    proves: "the fakes' answers are those of the providers' real sandboxes (needs keys)",
    ...{ runs: ['test/live/main.ts'], needs: 'dev', takes: '1 min' },
  },
  {
    name: 'alerts',
    proves: 'the alert rules are valid, and their cases pass (needs `promtool`)',
    ...{ runs: ['test/monitoring/alerts.ts'], needs: 'dev', takes: '5 s' },
  },
]
