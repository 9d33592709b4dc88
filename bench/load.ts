import { connect, type Socket } from 'node:net'

/**
 * The load generator: a process that creates payments, or opens their pages, as fast as it is answered, one request in
 * flight per connection. It shares the machine with what it measures, so it does little work: sockets without an HTTP
 * client, prepared requests, and only the status and length of each answer are read.
 */
export interface LoadOrder extends Errand {
  port: number
  connections: number
  warmUpMs: number
  measureMs: number
}

/** The requests, which are repeated, and the expected answer. */
export interface Errand {
  method: 'GET' | 'POST'
  /** Sent in turns. */
  paths: string[]
  headers: Record<string, string>
  body: string
  status: number
}

export interface LoadResult {
  /** Answers during the measurement. */
  measured: number
  seconds: number
  p50Ms: number
  p99Ms: number
  /** All answers, including the warm-up: each 201 must be a row. */
  answered: number
}

export type LoadReport = { kind: 'warm' } | { kind: 'done'; result: LoadResult } | { kind: 'failed'; reason: string }

const HOST = '127.0.0.1' // never anything but this machine
const MAX_MEASURED = 1_000_000
const MAX_MS = 120_000
const DRAIN_MS = 10_000
const CUSTOMERS = 10_000

const latencies = new Float64Array(MAX_MEASURED)

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (result) => report({ kind: 'done', result }),
    (error: Error) => report({ kind: 'failed', reason: error.message }),
  )
})
process.on('disconnect', () => process.exit()) // the parent process has ended

function report(message: LoadReport): void {
  process.send?.(message)
}

async function run(order: LoadOrder): Promise<LoadResult> {
  const requests = requestsOf(order)
  let measured = 0
  let answered = 0
  let measuring = false
  let ending = false
  let inFlight = order.connections
  let failure: Error | undefined
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const fail = (error: Error) => {
    failure ??= error
    finish()
  }

  const sockets = await Promise.all(
    Array.from({ length: order.connections }, () =>
      openConnection(
        order,
        requests,
        (sentAt) => {
          answered++
          if (measuring && measured < MAX_MEASURED) latencies[measured++] = performance.now() - sentAt
          if (measured === MAX_MEASURED) finish()
          if (ending) inFlight--
          return !ending
        },
        fail,
      ),
    ),
  )
  for (const { start } of sockets) start()

  await Promise.race([finished, sleep(Math.min(order.warmUpMs, MAX_MS))])
  report({ kind: 'warm' })
  const startedAt = performance.now()
  measuring = true
  await Promise.race([finished, sleep(Math.min(order.measureMs, MAX_MS))])
  measuring = false
  const seconds = (performance.now() - startedAt) / 1000
  // Waits for the requests in flight, so that they do not affect the next measurement.
  ending = true
  const deadline = performance.now() + DRAIN_MS
  while (inFlight > 0 && !failure && performance.now() < deadline) await sleep(5)
  for (const { socket } of sockets) socket.destroy()
  if (failure) throw failure
  if (inFlight > 0) throw new Error(`${inFlight} requests were not answered within ${DRAIN_MS} ms`)

  const sorted = latencies.subarray(0, measured).sort()
  const at = (share: number) => sorted[Math.min(measured - 1, Math.floor(measured * share))] ?? Number.NaN
  return { measured, seconds, p50Ms: at(0.5), p99Ms: at(0.99), answered }
}

/** Many customers in random order, so that an index on them has a realistic cost. */
function requestsOf({ port, method, paths, headers, body }: LoadOrder): Buffer[] {
  return Array.from({ length: CUSTOMERS }, (_, customer) => {
    const name = ((customer * 7_919) % CUSTOMERS).toString().padStart(5, '0')
    const own = body.replace('CUSTOMER', name)
    const length = own && { 'content-length': String(Buffer.byteLength(own)) }
    const lines = Object.entries({ host: `${HOST}:${port}`, ...headers, ...length })
    const head = lines.map(([header, value]) => `${header}: ${value}`).join('\r\n')
    return Buffer.from(`${method} ${paths[customer % paths.length]} HTTP/1.1\r\n${head}\r\n\r\n${own}`)
  })
}

let sent = 0

interface Connection {
  socket: Socket
  start(): void
}

function openConnection(
  { port, status }: LoadOrder,
  requests: Buffer[],
  /** Whether to continue. */
  onAnswer: (sentAt: number) => boolean,
  onFailure: (error: Error) => void,
): Promise<Connection> {
  const wanted = Buffer.from(`HTTP/1.1 ${status}`)
  return new Promise((resolve, reject) => {
    let sentAt = 0
    let head = '' // of an answer whose length is not known yet
    let missing = 0 // bytes of one whose length is
    const send = () => {
      sentAt = performance.now()
      socket.write(requests[sent++ % CUSTOMERS] as Buffer)
    }
    const isWhole = (bytes: Buffer, size: number): boolean => {
      if (missing > 0) missing -= size
      else if (head === '' && isWholeJson(bytes, size, wanted)) return true
      else {
        head += bytes.toString('latin1', 0, size)
        const length = lengthOf(head)
        if (length === undefined) return false
        if (!head.startsWith(wanted.toString()))
          throw new Error(`an answer that is not ${status}: ${head.slice(0, 600)}`)
        missing = length - head.length
        head = ''
      }
      return missing === 0
    }
    const socket = connect({
      host: HOST,
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(32_768), // reused: no buffer is allocated per answer
        callback: (size, buffer) => {
          try {
            if (isWhole(buffer as Buffer, size) && onAnswer(sentAt)) send()
            return true
          } catch (error) {
            onFailure(error as Error)
            return false
          }
        },
      },
    })
    socket.once('error', (error) => {
      reject(error)
      onFailure(error)
    })
    socket.once('end', () => onFailure(new Error('the server closed a connection')))
    socket.once('connect', () => resolve({ socket, start: send }))
  })
}

const BRACE = 0x7d

/**
 * The JSON nearly always comes in one piece: then its first bytes and its last two (`}}`) are enough, and it is not
 * decoded.
 */
function isWholeJson(bytes: Buffer, size: number, wanted: Buffer): boolean {
  return (
    bytes[size - 1] === BRACE &&
    bytes[size - 2] === BRACE &&
    bytes.compare(wanted, 0, wanted.length, 0, wanted.length) === 0
  )
}

/** The length of the whole answer, when its head has arrived. */
function lengthOf(answer: string): number | undefined {
  const headEnd = answer.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const length = /\ncontent-length: ?(\d+)/i.exec(answer.slice(0, headEnd))?.[1]
  if (length === undefined) throw new Error(`an answer without content-length: ${answer.slice(0, 300)}`)
  return headEnd + 4 + Number(length)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
