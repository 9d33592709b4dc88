import { setTimeout as pause } from 'node:timers/promises'
import { ask } from './ground.ts'

/** A payment that was created and cancelled, with the client's view of it. */
export interface Told {
  reference: string
  fault: string | undefined
}

export interface Door {
  port: number
}

const SETTLE_WITHIN_MS = 30_000

/** Creates a payment and cancels it, through any copy that answers, with retries until both are acknowledged. */
export async function makeAndCancel(
  doors: () => Door[],
  headers: Record<string, string>,
  payment: { reference: string; webhook?: string },
  onAcknowledged: (door: Door) => void = () => {},
): Promise<Told> {
  const { reference } = payment
  const body = { amount: 5_000, country: 'NG', user: { email: 'ada@example.com' }, ...payment }
  const deadline = performance.now() + SETTLE_WITHIN_MS
  let made = false
  let turn = reference.length
  while (performance.now() < deadline) {
    const up = doors()
    const door = up[turn++ % up.length]
    if (!door) {
      await pause(20) // no process listens yet; starting takes a second, and there is no event for "a port is open"
      continue
    }
    const answer = made
      ? await ask(door.port, headers, `/payments/${reference}/cancel`)
      : await ask(door.port, headers, '/checkouts', body)
    if (!answer || answer.status >= 500) {
      await pause(5)
      continue
    }
    const { status, body: said } = answer
    if (!made) {
      if (status !== 201 && said.code !== 'duplicate_reference') return fault(reference, answer)
      made = true
    } else {
      if (status !== 200 && said.code !== 'payment_cancelled') return fault(reference, answer)
      onAcknowledged(door)
      return { reference, fault: undefined }
    }
  }
  return { reference, fault: `not settled within ${SETTLE_WITHIN_MS} ms` }
}

function fault(reference: string, { status, body }: { status: number; body: { code?: string } }): Told {
  return { reference, fault: `got ${status} ${body.code}` }
}
