// The driver of the TypeScript client. The commands are in ../README.md.
import { inspect } from 'node:util'
import {
  type List,
  Manilla,
  ManillaApiError,
  ManillaConnectionError,
  type ManillaOptions,
  WebhookVerificationError,
} from '../../typescript/src/index.ts'
import type { Command, Reply } from '../protocol.ts'

let manilla: Manilla | undefined

async function run(command: Command): Promise<unknown> {
  if (command.do === 'open') {
    manilla = new Manilla(command.options as unknown as ManillaOptions)
    return null
  }
  if (command.do === 'verify') {
    const { body, headers, secret, toleranceSeconds, now } = command
    const options = { now: new Date(now * 1000), ...(toleranceSeconds !== undefined && { toleranceSeconds }) }
    return await new Manilla({ baseUrl: 'http://x', clientId: 'x', clientSecret: 'x' }).webhooks.verify(
      body as never,
      headers,
      secret as never,
      options,
    )
  }
  const { cancelAfterMs, ...options } = command.options ?? {}
  const stop = new AbortController()
  const timer = cancelAfterMs === undefined ? undefined : setTimeout(() => stop.abort(stop), cancelAfterMs)
  try {
    const [resource = '', method = ''] = command.call.split('.')
    // biome-ignore lint/suspicious/noExplicitAny: the call is chosen by its name
    const call = (manilla as any)[resource][method]
    const answer = call(...command.args.map(asNumber), { ...options, signal: stop.signal })
    if (command.do === 'page') return await (answer as List<unknown>).page()
    if (command.do === 'all') {
      const items: unknown[] = []
      for await (const item of answer as List<unknown>) items.push(item)
      return items
    }
    return command.do === 'csv' ? await (await answer).text() : ((await answer) ?? null)
  } catch (error) {
    throw error === stop ? new Cancelled() : error
  } finally {
    clearTimeout(timer)
  }
}

class Cancelled extends Error {}

/** JSON has no such number. */
function asNumber(value: unknown): unknown {
  if (value === '$NaN') return Number.NaN
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, asNumber(each)]))
}

function described(error: unknown): Reply['error'] {
  const dump = [inspect(error, { showHidden: true, depth: 20 }), JSON.stringify(error), String(error)].join('\n')
  const all = { dump: `${dump}\n${inspect(manilla, { showHidden: true, depth: 20 })}`, message: String(error) }
  if (error instanceof Cancelled) return { ...all, kind: 'cancelled' }
  if (error instanceof WebhookVerificationError) return { ...all, kind: 'webhook', reason: error.reason }
  if (error instanceof ManillaConnectionError) {
    const { timedOut, idempotencyKey, retries } = error
    return { ...all, kind: 'connection', timedOut, idempotencyKey, retries }
  }
  if (!(error instanceof ManillaApiError)) return { ...all, kind: 'client' }
  const { status, code, detail, requestId = null, errors, retryable, retryAfterSeconds = null, existing = null } = error
  const { attempt = null, refundable = null, idempotencyKey, retries } = error
  const problem = { status, code, detail, requestId, errors, retryable, retryAfterSeconds, existing }
  return { ...all, kind: 'api', ...problem, attempt, refundable, idempotencyKey, retries }
}

/** Not with readline: it also ends a line at U+2028. */
async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

for await (const line of linesOf(process.stdin)) {
  const reply: Reply = await run(JSON.parse(line)).then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error: described(error) }),
  )
  process.stdout.write(`${JSON.stringify(reply)}\n`)
}
