/** Pairs in which neither side fits another one. What is ambiguous is not guessed. */
export function certainPairs<Pair extends { settlement: string; credit: number }>(candidates: Pair[]): Pair[] {
  const bySettlement = Map.groupBy(candidates, ({ settlement }) => settlement)
  const byCredit = Map.groupBy(candidates, ({ credit }) => credit)
  return candidates.filter(
    ({ settlement, credit }) => bySettlement.get(settlement)?.length === 1 && byCredit.get(credit)?.length === 1,
  )
}
