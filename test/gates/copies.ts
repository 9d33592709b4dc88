import type { Random } from './random.ts'

/** A process of the service that is killed and restarted. */
export interface Copy {
  /** Undefined while it is down. */
  readonly copy: unknown
  /** Empty until its first start. */
  readonly baseUrl: string
  start(): Promise<void>
  /** `kill -9`, then the next start. */
  crash(): Promise<void>
  end(): Promise<void>
}

/** All copies of one run. */
export class Copies<Kind extends Copy = Copy> {
  readonly slots: readonly Kind[]

  constructor(slots: readonly Kind[]) {
    this.slots = slots
  }

  /** Waits for all of them even when one fails: a copy that is still starting could not be ended yet. */
  async start(): Promise<void> {
    await allOf(this.slots.map((slot) => slot.start()))
  }

  async end(): Promise<void> {
    await allOf(this.slots.map((slot) => slot.end()))
  }

  /** One that is up; undefined while none is. */
  pick(random: Random): string | undefined {
    const up = this.slots.filter(({ copy }) => copy)
    return up.length === 0 ? undefined : random.pick(up).baseUrl
  }

  /** Whether a link leads to one of them, up or not. */
  isOurs(link: string): boolean {
    return this.slots.some(({ baseUrl }) => baseUrl !== '' && link.startsWith(`${baseUrl}/`))
  }
}

/** Waits until each has ended, then throws the first error. */
export async function allOf(tasks: Promise<unknown>[]): Promise<void> {
  for (const task of await Promise.allSettled(tasks)) if (task.status === 'rejected') throw task.reason
}
