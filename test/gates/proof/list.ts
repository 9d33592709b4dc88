/** What a release must show. `npm run gate -- proof` runs this list; docs/proof.md has the results. */
export interface Proof {
  name: string
  /** Of test/gates/gates.ts, and its folder in test/gates/. */
  gate: string
  /** What holds when it is clean. */
  shows: string
  /** The figure of the gate that is counted. */
  counts: string
  release: number
  /** Of `npm run gate -- proof --quick`. */
  quick: number
  /** At most so much in one run. An interrupted run is lost, so that a run takes some minutes only. */
  portion: number
  /** Arguments for so much of it. */
  args(size: number): Record<string, number | string>
}

export const PROOFS: Proof[] = [
  {
    name: 'crash',
    gate: 'crash',
    shows: 'Nothing that was acknowledged is lost or doubled by `kill -9`, and no refund is made twice.',
    counts: 'kill -9',
    ...{ release: 500, quick: 10, portion: 50 },
    args: (size) => ({
      kills: Math.ceil(size * 0.6),
      restarts: Math.ceil(size * 0.2),
      refunds: Math.ceil(size * 0.2),
      postgres: 0,
    }),
  },
  {
    name: 'postgres',
    gate: 'crash',
    shows: 'PostgreSQL may stop or crash under load: the service needs no restart, and nothing acknowledged is lost.',
    counts: 'restarts of PostgreSQL',
    ...{ release: 100, quick: 3, portion: 25 },
    args: (size) => ({ kills: 0, restarts: 0, refunds: 0, postgres: size }),
  },
  {
    name: 'chaos',
    gate: 'provider-chaos',
    shows: "With faults of the sandbox provider and `kill -9`, our records equal the provider's ledger, to the unit.",
    counts: 'payments',
    ...{ release: 100_000, quick: 60, portion: 1_000 },
    args: (size) => ({
      provider: 'gateway',
      payments: size,
      kills: Math.ceil(size / 200),
      clients: 50,
      only: 'minutes',
    }),
  },
  {
    name: 'clocks',
    gate: 'provider-chaos',
    shows: 'The same while the clocks of PostgreSQL and of each process jump by an hour, and back.',
    counts: 'simulated hours',
    ...{ release: 24, quick: 2, portion: 6 },
    args: (size) => ({ provider: 'gateway', payments: size * 60, kills: 2, clients: 50, hours: size }),
  },
  {
    name: 'providers',
    gate: 'provider-chaos',
    shows: 'With each provider and its faults, our records equal its ledger, entry by entry.',
    counts: 'payments',
    ...{ release: 5_000, quick: 50, portion: 250 },
    args: (size) => ({ payments: Math.ceil(size / 5), only: 'minutes' }),
  },
  {
    name: 'weeks',
    gate: 'provider-chaos',
    shows: 'Over simulated weeks, our records equal the ledger of each provider, or an open case says why not.',
    counts: 'payments',
    ...{ release: 7_500, quick: 125, portion: 500 },
    args: (size) => ({ payments: Math.ceil(size / 5), only: 'weeks' }),
  },
  {
    name: 'webhooks',
    gate: 'webhooks',
    shows: 'Every event is delivered while processes are killed and a third of the endpoints fail.',
    counts: 'kill -9',
    ...{ release: 100, quick: 3, portion: 20 },
    args: (size) => ({ kills: size, endpoints: size * 10, events: size * 250 }),
  },
  {
    name: 'fuzz',
    gate: 'fuzz',
    shows: 'Broken and hostile requests get a valid answer below 500, and damage nothing.',
    counts: 'requests',
    ...{ release: 1_000_000, quick: 2_000, portion: 50_000 },
    args: (size) => ({ requests: size, rate: 0 }),
  },
  {
    name: 'failover',
    gate: 'failover',
    shows: 'PostgreSQL with Patroni loses its primary: nothing is lost, and writes are back within 30 s.',
    counts: 'faults',
    ...{ release: 20, quick: 4, portion: 4 },
    args: (size) => ({ rounds: size }),
  },
  {
    name: 'restore',
    gate: 'restore-drill',
    shows: "After a point-in-time restore and the repair, our records equal the provider's ledger.",
    counts: 'restores',
    ...{ release: 3, quick: 1, portion: 1 },
    args: () => ({}),
  },
]
