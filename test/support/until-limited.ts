import assert from 'node:assert/strict'

/**
 * Asks until it is refused, after the burst was used up. Tokens come back at a steady rate, so a machine that stalls is
 * allowed more: one for each `everyMs` since `startMs`, when the burst began.
 */
export async function untilLimited<Answer extends { status: number }>(
  ask: () => Promise<Answer>,
  { startMs, everyMs }: { startMs: number; everyMs: number },
): Promise<Answer> {
  for (let more = 0; ; more++) {
    const answer = await ask()
    if (answer.status === 429) return answer
    const allowed = Math.floor((performance.now() - startMs) / everyMs)
    assert.ok(more < allowed, `${more + 1} more were allowed, not ${allowed}`)
  }
}
