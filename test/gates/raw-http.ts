import { connect, type Socket } from 'node:net'

/** HTTP as bytes: `node:http` refuses to send most of the fuzzer's requests. */
export interface RawAnswer {
  status: number
  headers: Map<string, string>
  body: string
  tookMs: number
}

export interface Address {
  host: string
  port: number
}

/** The connection ended before a whole answer was there. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
}

const GIVE_UP_MS = 10_000

/** One keep-alive connection, opened again when the service closed it. One request at a time. */
export class RawClient {
  readonly #address: Address
  #socket: Socket | undefined

  constructor(address: Address) {
    this.#address = address
  }

  /**
   * Sends a request in the given pieces and waits for its answer. `hangUp`: ends the sending side after the last piece.
   */
  async ask(pieces: Buffer[], { method = 'GET', hangUp = false } = {}): Promise<RawAnswer> {
    const socket = await this.#connected()
    const startedAt = performance.now()
    const answer = readAnswer(socket, method)
    for (const [index, piece] of pieces.entries()) {
      // One packet for each piece.
      if (index > 0) await new Promise((resolve) => setImmediate(resolve))
      if (socket.writable) socket.write(piece)
    }
    if (hangUp) socket.end()
    try {
      const { closes, ...read } = await answer
      if (closes || hangUp) this.close()
      return { ...read, tookMs: performance.now() - startedAt }
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Sends bytes and breaks the connection without waiting for anything. */
  async cut(bytes: Buffer): Promise<void> {
    const socket = await this.#connected()
    await new Promise<void>((resolve) => socket.write(bytes, () => resolve()))
    socket.destroy()
    this.#socket = undefined
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async #connected(): Promise<Socket> {
    if (this.#socket?.writable) return this.#socket
    const socket = connect({ ...this.#address, noDelay: true })
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    socket.on('error', () => {}) // a pending request is rejected on 'close'
    this.#socket = socket
    return socket
  }
}

interface Read extends Omit<RawAnswer, 'tookMs'> {
  closes: boolean
}

function readAnswer(socket: Socket, method: string): Promise<Read> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    const timer = setTimeout(() => finish(() => reject(new NoAnswer(`none within ${GIVE_UP_MS} ms`))), GIVE_UP_MS)
    const finish = (settle: () => void) => {
      clearTimeout(timer)
      socket.off('data', onData).off('close', onClose)
      settle()
    }
    const onData = (bytes: Buffer) => {
      received = Buffer.concat([received, bytes])
      const read = parseAnswer(received, method)
      if (read) finish(() => resolve(read))
    }
    const onClose = () => finish(() => reject(new NoAnswer(`closed after ${received.length} bytes`)))
    socket.on('data', onData).on('close', onClose)
  })
}

/** The answer, or undefined while it is not complete. */
function parseAnswer(received: Buffer, method: string): Read | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [statusLine = '', ...lines] = received.subarray(0, headEnd).toString('latin1').split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1])
  const rest = received.subarray(headEnd + 4)
  if (status === 100) return parseAnswer(rest, method)
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const closes = headers.get('connection')?.toLowerCase() === 'close'
  const body = bodyOf(rest, headers, method === 'HEAD' || status === 204 || status === 304)
  return body && { status, headers, body: body.toString('utf8'), closes }
}

function bodyOf(rest: Buffer, headers: Map<string, string>, none: boolean): Buffer | undefined {
  if (none) return Buffer.alloc(0)
  if (headers.get('transfer-encoding') === 'chunked') return chunksOf(rest)
  const length = Number(headers.get('content-length') ?? 0)
  return rest.length >= length ? rest.subarray(0, length) : undefined
}

function chunksOf(rest: Buffer): Buffer | undefined {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(rest.subarray(at, lineEnd).toString('latin1'), 16)
    const end = lineEnd + 2 + size
    if (rest.length < end + 2) return undefined
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(rest.subarray(lineEnd + 2, end))
    at = end + 2
  }
}
