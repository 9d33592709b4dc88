import { type ClientRequest, get, type IncomingHttpHeaders } from 'node:http'
import { after } from 'node:test'

export interface StreamMessage {
  v: number
  status: string
}

/** A client of server-sent events, on its own connection. */
export interface EventStream {
  status: number
  headers: IncomingHttpHeaders
  /** All of its text so far. */
  text(): string
  messages(): StreamMessage[]
  /** Resolves with the first message that matches, earlier ones included. */
  until(isSo: (message: StreamMessage) => boolean, withinMs?: number): Promise<StreamMessage>
  /** Resolves when the text matches. */
  untilText(isSo: (text: string) => boolean, withinMs?: number): Promise<void>
  /** Resolves when the stream has ended or its connection is closed. */
  ended: Promise<void>
  close(): void
}

export async function openEventStream(url: string): Promise<EventStream> {
  let text = ''
  let call: ClientRequest | undefined
  const looks = new Set<() => void>()
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    call = get(url, { agent: false, headers: { accept: 'text/event-stream' } }, resolve)
    call.on('error', reject)
  })
  const close = () => void call?.destroy()
  after(close)
  response.setEncoding('utf8')
  response.on('error', () => {}) // its close follows
  response.on('data', (chunk: string) => {
    text += chunk
    for (const look of looks) look()
  })
  const messages = () => [...text.matchAll(/^data: (.+)\n\n/gm)].map((found) => JSON.parse(found[1] as string))
  const wait = <Value>(find: () => Value | undefined, withinMs: number) =>
    new Promise<Value>((resolve, reject) => {
      const tooLong = setTimeout(() => {
        looks.delete(look)
        reject(new Error(`not so within ${withinMs} ms; the stream so far: ${text}`))
      }, withinMs)
      function look() {
        const found = find()
        if (found === undefined) return
        clearTimeout(tooLong)
        looks.delete(look)
        resolve(found)
      }
      looks.add(look)
      look()
    })
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: () => text,
    messages,
    until: (isSo, withinMs = 20_000) => wait(() => messages().find(isSo), withinMs),
    untilText: async (isSo, withinMs = 20_000) => void (await wait(() => isSo(text) || undefined, withinMs)),
    ended: new Promise((resolve) => response.once('close', resolve)),
    close,
  }
}
