import pg from 'pg'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

const RealDate = Date
const realMonotonic = performance.now.bind(performance)

/**
 * One simulated time for PostgreSQL and for this process. `now()` and `clock_timestamp()` of a schema that stands
 * before pg_catalog in the search path replace those of PostgreSQL, in statements and in the defaults of columns.
 * `Date` and `performance.now` of this process are ahead by as much, for the service and for the fake of a provider in
 * it. No row is rewritten, and new ids have the simulated time in them. Between two steps time runs as usual.
 */
export class SimulatedClock {
  readonly #startedAt = RealDate.now()
  readonly #client: pg.Client
  #aheadMs = 0

  private constructor(client: pg.Client) {
    this.#client = client
  }

  /** On a database without tables: a migration binds the functions that it finds to the defaults of its columns. */
  static async begin(url: string): Promise<SimulatedClock> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('create schema simulated')
    await client.query(functionsOf(0))
    await client.query(`do $$ begin
      execute format('alter database %I set search_path = simulated, public, pg_catalog', current_database());
    end $$`)
    const clock = new SimulatedClock(client)
    replaceClocks(() => clock.#aheadMs)
    return clock
  }

  /** Since it began. */
  get elapsedMs(): number {
    return Date.now() - this.#startedAt
  }

  /** Never goes back. Nothing may be under way: a deadline of a call would pass. */
  async moveTo(elapsedMs: number): Promise<void> {
    const aheadMs = Math.round(this.#startedAt + elapsedMs - RealDate.now())
    if (aheadMs <= this.#aheadMs) return
    await this.#client.query(functionsOf(aheadMs))
    this.#aheadMs = aheadMs
  }

  async end(): Promise<void> {
    globalThis.Date = RealDate
    performance.now = realMonotonic
    await this.#client.end()
  }
}

// A constant in the body: PostgreSQL puts it into each statement, so that indexes are used as before.
const functionsOf = (aheadMs: number) => `begin;
  create or replace function simulated.now() returns timestamptz language sql stable
    as 'select pg_catalog.now() + interval ''${aheadMs} milliseconds''';
  create or replace function simulated.clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + interval ''${aheadMs} milliseconds''';
  commit`

function replaceClocks(aheadMs: () => number): void {
  const now = () => RealDate.now() + aheadMs()
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, as) => Reflect.construct(target, args.length === 0 ? [now()] : args, as),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  })
  performance.now = () => realMonotonic() + aheadMs()
}
