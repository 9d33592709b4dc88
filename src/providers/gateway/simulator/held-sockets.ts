import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

const HELD_AT_MOST_MS = 60_000

/** Callers that get no answer. Each waits until it gives up, until its time is over, or until we stop. */
export class HeldSockets {
  readonly #held = new Set<Socket>()
  #stopped = false

  hold(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.hijack()
    const { socket } = request.raw
    // Stopped, or the caller went away while we were at work.
    if (this.#stopped || socket.destroyed) {
      socket.destroy()
      return reply
    }
    const timer = setTimeout(() => socket.destroy(), HELD_AT_MOST_MS).unref()
    this.#held.add(socket)
    socket.once('close', () => {
      clearTimeout(timer)
      this.#held.delete(socket)
    })
    return reply
  }

  /** Closes the held sockets, so that a stopping server does not wait for them. */
  stop(): void {
    this.#stopped = true
    for (const socket of this.#held) socket.destroy()
  }
}
