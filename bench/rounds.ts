import type { Measurement } from './measure.ts'

type Measure = () => Promise<Measurement>

/**
 * One round, so that noise of the machine affects all cases alike: one case after the other, each round beginning with
 * another one, then all again in reverse, so that a machine that becomes slower meanwhile does so for all. The result
 * of a case is the mean of its two passes.
 */
export async function runRound(cases: Measure[], round: number): Promise<Measurement[]> {
  const order = rotate([...cases.keys()], round)
  const passes = cases.map((): Measurement[] => [])
  for (const index of [...order, ...order.toReversed()]) passes[index]?.push(await (cases[index] as Measure)())
  return passes.map(([first, second]) => meanOf(first as Measurement, second as Measurement))
}

export function rotate<Item>(items: readonly Item[], by: number): Item[] {
  const from = by % items.length
  return [...items.slice(from), ...items.slice(0, from)]
}

function meanOf(one: Measurement, other: Measurement): Measurement {
  const mean = { ...one }
  for (const key of ['rate', 'p50Ms', 'p99Ms', 'serverCpuMs', 'postgresCpuMs'] as const)
    mean[key] = (one[key] + other[key]) / 2
  return mean
}
