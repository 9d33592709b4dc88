import pg from 'pg'
import { idOf } from '../../../src/kernel/ids.ts'
import type { Call } from './load.ts'

/** Compares the clients' records with the database: each acknowledged checkout exists once, and no others exist. */
export interface Books {
  acknowledged: number
  refused: number
  unknown: number
  settledAs: { replay: number; duplicate: number; new: number }
  unsettled: number
  /** Acknowledged, but missing or different. */
  missing: number
  /** A reference, key or id that is stored twice or was answered with two ids. */
  doubled: number
  /** Stored, but sent by no client. */
  extra: number
  faults: string[]
}

interface Row {
  place: number
  id: string
  reference: string
  amount: string
  idempotency_key: string | null
}

export async function compareBooks(calls: Call[], databaseUrl: string): Promise<Books> {
  const rows = await readPayments(databaseUrl)
  const byReference = Map.groupBy(rows, ({ reference }) => reference)
  const sent = new Set(calls.map(({ reference }) => reference))
  const acknowledged = calls.filter(({ id }) => id !== undefined)
  const unknown = calls.filter(({ first }) => first === 'unknown')
  const settled = (as: Call['settled']) => unknown.filter((call) => call.settled === as).length

  const missing = acknowledged.filter(
    (call) => !(byReference.get(call.reference) ?? []).some((row) => isSame(row, call)),
  )
  const ids = acknowledged.map(({ id }) => id)
  const keys = rows.flatMap(({ idempotency_key: key }) => key ?? [])
  const faulty = calls.filter(({ fault }) => fault)
  return {
    acknowledged: acknowledged.length,
    refused: calls.filter(({ first }) => first === 'refused').length,
    unknown: unknown.length,
    settledAs: { replay: settled('replay'), duplicate: settled('duplicate'), new: settled('new') },
    unsettled: settled(undefined),
    missing: missing.length,
    doubled: rows.length - byReference.size + repeats(ids) + repeats(keys),
    extra: rows.filter(({ reference }) => !sent.has(reference)).length,
    faults: [
      ...faulty.map(({ reference, fault }) => `${reference}: ${fault}`),
      ...missing.map(({ reference, id }) => `${reference}: acknowledged as ${id}, and not stored with that id`),
    ],
  }
}

export function isClean({ refused, unsettled, missing, doubled, extra, faults }: Books): boolean {
  return refused + unsettled + missing + doubled + extra + faults.length === 0
}

function isSame(row: Row, { id, amount, key }: Call): boolean {
  return (
    idOf('payment', row.id, row.place) === id && Number(row.amount) === amount && row.idempotency_key === (key ?? null)
  )
}

function repeats(values: unknown[]): number {
  return values.length - new Set(values).size
}

async function readPayments(connectionString: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query<Row>('select place, id, reference, amount, idempotency_key from payments')).rows
  } finally {
    await client.end()
  }
}
