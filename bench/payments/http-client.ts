import { connect, type Socket } from 'node:net'

export interface Request {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}

export interface Answer {
  status: number
  /** The status line and the headers. */
  head: string
  body: Buffer
}

/** What waits for an answer. */
interface Waiting {
  resolve(answer: Answer): void
  reject(error: Error): void
}

/**
 * Connections to one server. The customers share the machine with what they measure, so their client does little work:
 * one request at a time on each connection, and answers of a known length only.
 */
export class HttpClient {
  readonly #host: string
  readonly #port: number
  readonly #idle: Connection[] = []

  constructor(origin: string) {
    const { hostname, port, host } = new URL(origin)
    if (hostname !== '127.0.0.1') throw new Error(`${host} is not this machine`)
    this.#host = host
    this.#port = Number(port)
  }

  async request({ method, path, headers, body = '' }: Request): Promise<Answer> {
    let connection = this.#idle.pop()
    while (connection && !connection.isOpen) connection = this.#idle.pop()
    connection ??= new Connection(this.#port)
    let text = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n`
    for (const name in headers) text += `${name}: ${headers[name]}\r\n`
    if (method === 'POST') text += `content-length: ${body.length}\r\n`
    const answer = await connection.send(`${text}\r\n${body}`)
    this.#idle.push(connection)
    return answer
  }

  /** When all requests are answered. */
  close(): void {
    for (const connection of this.#idle.splice(0)) connection.close()
  }
}

class Connection {
  readonly #socket: Socket
  #waiting: Waiting | undefined
  #received: Buffer[] = []
  #missing = 0
  #head = ''
  #bodyFrom = 0

  constructor(port: number) {
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true })
    this.#socket.on('data', (bytes) => this.#receive(bytes))
    this.#socket.once('error', (error) => this.#fail(error))
    this.#socket.once('close', () => this.#fail(new Error('the server closed a connection')))
  }

  /** A server closes a connection that was idle for seconds. */
  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  send(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(request, 'latin1') // requests are ASCII
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(bytes: Buffer): void {
    this.#received.push(bytes)
    if (this.#head !== '') this.#missing -= bytes.length
    else if (!this.#readHead()) return
    if (this.#missing > 0) return
    const all = this.#received.length === 1 ? bytes : Buffer.concat(this.#received)
    const answer = { status: Number(this.#head.slice(9, 12)), head: this.#head, body: all.subarray(this.#bodyFrom) }
    this.#received = []
    this.#head = ''
    this.#waiting?.resolve(answer)
    this.#waiting = undefined
  }

  #readHead(): boolean {
    const all = this.#received.length === 1 ? (this.#received[0] as Buffer) : Buffer.concat(this.#received)
    const end = all.indexOf('\r\n\r\n')
    if (end === -1) return false
    this.#head = all.toString('latin1', 0, end)
    this.#bodyFrom = end + 4
    this.#missing = this.#bodyFrom + Number(headerOf(this.#head, 'content-length')) - all.length
    if (Number.isNaN(this.#missing)) this.#fail(new Error(`an answer without content-length: ${this.#head}`))
    return true
  }

  #fail(error: Error): void {
    this.#socket.destroy()
    this.#waiting?.reject(error)
    this.#waiting = undefined
  }
}

/** Undefined if there is none. The servers here write names in lower case. */
function headerOf(head: string, name: string): string | undefined {
  const start = `\r\n${name}: `
  const from = head.indexOf(start)
  if (from === -1) return undefined
  const end = head.indexOf('\r\n', from + start.length)
  return head.slice(from + start.length, end === -1 ? undefined : end)
}
