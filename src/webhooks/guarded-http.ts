import { promises as dns, type LookupAddress } from 'node:dns'
import * as http from 'node:http'
import * as https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isPublic } from './public-address.ts'

export interface GuardedHttp {
  /** Never throws: what went wrong is a value. */
  post(call: Post): Promise<Answer>
  /** Ends every connection, and every call that is under way. */
  close(): void
}

export interface Post {
  url: string
  headers: Record<string, string>
  body: string
  /** May it lead inside: to loopback, a private network, any port? */
  allowPrivate: boolean
}

export type Answer =
  | { kind: 'answer'; status: number; retryAfterSeconds: number | null; excerpt: string; tookMs: number }
  | { kind: 'failed'; because: Because; detail: string; tookMs: number }

export type Because =
  | 'timeout'
  | 'refused'
  | 'reset'
  | 'tls'
  | 'dns'
  | 'blocked_address'
  | 'invalid_url'
  | 'too_many'
  | 'other'

export interface GuardedHttpOptions {
  /** For the whole call: waiting in line, connecting, sending, and the last byte of the answer. */
  deadlineMs?: number
  /** For name, connection and TLS; and for the wait in line, so that whoever is sent has time left for an answer. */
  connectMs?: number
  /** Of an answer's body; then the connection is cut, and the status counts. */
  maxReadBytes?: number
  keepBytes?: number
  /** Calls at once to one host and port; the others wait in line. */
  maxConnectionsPerHost?: number
  /** How long that line may grow before the next call is turned away at once. */
  maxWaitingPerHost?: number
  /** For tests: every address of a name. */
  resolve?: Resolve
  /** For tests: whose certificates to trust. */
  ca?: string
}

/** As `dns.promises.lookup(name, { all: true })`. */
export type Resolve = (hostname: string) => Promise<Pick<LookupAddress, 'address'>[]>

/**
 * The one way to a merchant's URL. Whoever wrote that URL may mean harm: it may point inside, at once or after a change of DNS,
 * and its server may be silent, slow or endless. So every address is checked, and what was checked is what is connected to;
 * redirects are answers like any other; time and size are bounded.
 *
 * On node:http: its agent asks our lookup once for each connection, and keeps connections by agent, so that those opened with
 * permission to go inside are out of reach for calls without it.
 */
export function guardedHttp(options: GuardedHttpOptions = {}): GuardedHttp {
  const { deadlineMs = 15_000, connectMs = 5_000, maxConnectionsPerHost = 8, maxWaitingPerHost = 1_000 } = options
  const toAnywhere = createRoute(options.resolve ?? resolveAsSystem, () => true, options)
  const toPublic = createRoute(options.resolve ?? createDnsResolve(), isPublic, options)
  const lines = createLines(maxConnectionsPerHost, maxWaitingPerHost)
  const underWay = new Set<() => void>()
  let closed = false

  function post(call: Post): Promise<Answer> {
    const startedAt = performance.now()
    return new Promise((resolve) => {
      const finish = (outcome: Outcome) => resolve({ ...outcome, tookMs: Math.round(performance.now() - startedAt) })
      if (closed) return finish(failed('other', 'closed'))
      const target = aim(call.url, call)
      if ('because' in target) return finish(target)

      const place = `${call.allowPrivate ? 'anywhere' : 'public'} ${target.protocol} ${target.host}`
      let exchange: { abort(outcome: Outcome): void } | undefined
      const done = (outcome: Outcome) => {
        clearTimeout(deadline)
        clearTimeout(patience)
        underWay.delete(end)
        lines.giveUp(place, begin)
        finish(outcome)
      }
      const stop = (outcome: Outcome) => (exchange ? exchange.abort(outcome) : done(outcome))
      const end = () => stop(failed('other', 'closed'))
      const deadline = setTimeout(() => stop(failed('timeout', 'no whole answer before the deadline')), deadlineMs)
      let patience: NodeJS.Timeout | undefined
      underWay.add(end)

      const begin = () => {
        clearTimeout(patience)
        const route = call.allowPrivate ? toAnywhere : toPublic
        exchange = startExchange({ call, target, route, options, done, free: () => lines.leave(place) })
      }
      if (!lines.enter(place, begin)) done(failed('too_many', 'too many calls to this host are waiting'))
      else if (!exchange) patience = setTimeout(() => done(failed('too_many', NONE_FREE)), connectMs)
    })
  }

  return {
    post,
    close() {
      closed = true
      for (const end of underWay) end()
      for (const agent of [toAnywhere, toPublic].flatMap(agentsOf)) agent.destroy()
    },
  }
}

const NONE_FREE = 'no connection was free in time'

type Failed = Omit<Extract<Answer, { kind: 'failed' }>, 'tookMs'>
type Outcome = Omit<Extract<Answer, { kind: 'answer' }>, 'tookMs'> | Failed

const failed = (because: Because, detail: string): Failed => ({ kind: 'failed', because, detail })

interface Target {
  protocol: 'http:' | 'https:'
  /** Without the brackets of IPv6: what is connected to. */
  hostname: string
  /** With port and brackets: what the request says. */
  host: string
  port: number
  path: string
}

/** Where a URL leads, or why it may not be asked. What can be known before DNS; the rest is known when connecting. */
export function aim(url: string, { allowPrivate }: { allowPrivate: boolean }): Target | Failed {
  const parsed = URL.parse(url)
  if (!parsed) return failed('invalid_url', 'not a URL')
  const { protocol, host, pathname, search } = parsed
  if (protocol !== 'https:' && protocol !== 'http:') return failed('invalid_url', 'neither http nor https')
  if (parsed.username || parsed.password) return failed('invalid_url', 'a name or password stands in it')
  const hostname = parsed.hostname.replace(/^\[|\]$/g, '')
  const port = Number(parsed.port) || (protocol === 'https:' ? 443 : 80)
  if (!allowPrivate) {
    // The parser has spelled every literal in the one canonical way, whatever its digits were. Node looks no literal up.
    if (isIP(hostname) ? !isPublic(hostname) : LOCALHOST.test(hostname)) return failed('blocked_address', NOT_PUBLIC)
    if (port < 1024 && port !== 80 && port !== 443) return failed('invalid_url', `port ${port} is not for webhooks`)
  }
  return { protocol, hostname, host, port, path: pathname + search }
}

// RFC 6761: never anything but loopback, and some resolvers do not even ask.
const LOCALHOST = /(^|\.)localhost\.?$/
// Which address it was stays with us: a name may be known inside only.
const NOT_PUBLIC = 'the address is not a public one'

interface Exchange {
  call: Post
  target: Target
  route: Route
  options: GuardedHttpOptions
  /** Called once. */
  done(outcome: Outcome): void
  /** Called once, when the connection is at nobody's service but the agent's. */
  free(): void
}

function startExchange({ call, target, route, options, done, free }: Exchange) {
  const { connectMs = 5_000, maxReadBytes = 64 * 1024, keepBytes = 2 * 1024 } = options
  let request: http.ClientRequest | undefined
  let connecting: NodeJS.Timeout | undefined
  let over = false

  const settle = (outcome: Outcome) => {
    if (over) return
    over = true
    clearTimeout(connecting)
    done(outcome)
  }
  const abort = (outcome: Outcome) => {
    settle(outcome)
    request?.destroy()
  }

  function send(agents: Agents) {
    let secured = false
    let answered = false
    let interim = 0
    const mine = (target.protocol === 'https:' ? https : http).request({
      method: 'POST',
      agent: agents[target.protocol],
      host: target.hostname,
      port: target.port,
      path: target.path,
      headers: headersOf(call, target),
    })
    request = mine

    mine.on('socket', (socket) => {
      secured = !socket.connecting
      if (secured || over) return
      connecting = setTimeout(() => abort(failed('timeout', 'no connection was made in time')), connectMs)
      socket.once(target.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        secured = true
        clearTimeout(connecting)
      })
    })
    mine.on('error', (error: NodeJS.ErrnoException) => {
      if (over) return
      // The other side closed a connection that we had kept, just as we used it. Once more on a new one: a webhook may
      // arrive twice, and this is no failure of the endpoint.
      const stale = mine.reusedSocket && !answered && RESET.has(error.code ?? '')
      if (stale) send(route.fresh)
      else settle(failureOf(error, target.protocol === 'https:' && !secured))
    })
    mine.on('close', () => {
      if (request !== mine) return
      // When the end of an answer is the end of its connection, this comes before the answer's own end.
      if (!answered) settle(failed('reset', 'closed without an answer'))
      free()
    })
    mine.on('information', () => {
      if (++interim > MAX_INTERIM) abort(failed('other', 'one interim answer after the other'))
    })
    mine.on('response', (response) => {
      answered = true
      const status = response.statusCode ?? 0
      const retryAfterSeconds = readRetryAfter(response.headers['retry-after'])
      const kept: Buffer[] = []
      let size = 0
      const answer = (): Outcome => ({
        kind: 'answer',
        status,
        retryAfterSeconds,
        excerpt: size === 0 ? '' : excerptOf(Buffer.concat(kept), keepBytes),
      })
      response.on('data', (chunk: Buffer) => {
        if (size < keepBytes) kept.push(chunk.subarray(0, keepBytes + 1 - size))
        size += chunk.length
        if (size > maxReadBytes) abort(answer())
      })
      response.on('error', (error) => settle(failureOf(error, false)))
      response.on('end', () => settle(response.complete ? answer() : failed('reset', 'the answer broke off')))
      response.on('close', () => settle(failed('reset', 'the answer broke off')))
    })
    mine.end(call.body)
  }

  try {
    send(route.kept)
  } catch (error) {
    settle(failed('other', `the request could not be made: ${codeOf(error)}`))
    free()
  }
  return { abort }
}

const MAX_INTERIM = 8
const RESET = new Set(['ECONNRESET', 'EPIPE'])

function headersOf({ headers, body }: Post, { host }: Target): http.OutgoingHttpHeaders {
  return {
    'user-agent': 'manilla',
    'accept-encoding': 'identity',
    ...headers,
    host,
    'content-length': Buffer.byteLength(body),
  }
}

/** An error that says itself what it is. */
class Refusal extends Error {
  readonly outcome: Failed
  constructor(outcome: Failed) {
    super(outcome.detail)
    this.outcome = outcome
  }
}

function failureOf(error: NodeJS.ErrnoException, duringTls: boolean): Failed {
  if (error instanceof Refusal) return error.outcome
  const code = codeOf(error)
  if (code === 'ECONNREFUSED') return failed('refused', code)
  if (code === 'ETIMEDOUT') return failed('timeout', code)
  if (RESET.has(code)) return failed('reset', code)
  // What the system says (no route, no more files) names its call; what TLS says does not.
  const saidByTls = error.syscall === undefined || code === 'EPROTO'
  if (/^ERR_(SSL|TLS)/.test(code) || (duringTls && saidByTls)) return failed('tls', code)
  return failed('other', code)
}

/** The code alone: a message may quote what was sent, or an address. */
function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return typeof code === 'string' && /^\w+$/.test(code) ? code : 'no code'
}

/** Seconds, or a date in one of HTTP's three forms. What is neither says nothing. */
export function readRetryAfter(value: string | undefined, now = Date.now()): number | null {
  if (!value) return null
  if (/^\d+$/.test(value)) return Math.min(Number(value), Number.MAX_SAFE_INTEGER)
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(value)) return null // Date.parse takes a lot for a date.
  const at = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`)
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now) / 1000))
}

/** Text that can be stored and shown: no broken character, nothing that steers a terminal or turns the line around. */
export function excerptOf(bytes: Buffer, keepBytes: number): string {
  const isCut = bytes.length > keepBytes
  const text = bytes.toString('utf8', 0, keepBytes).replace(STEERING, '\ufffd')
  const whole = isCut ? text.replace(/\ufffd$/, '') : text
  if (Buffer.byteLength(whole) <= keepBytes) return whole
  // A replacement is longer than what it replaces.
  return whole.slice(0, encoder.encodeInto(whole, new Uint8Array(keepBytes)).read)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what we look for
const STEERING = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const encoder = new TextEncoder()

interface Agents {
  'http:': http.Agent
  'https:': https.Agent
}

interface Route {
  kept: Agents
  /** Its connections serve once. */
  fresh: Agents
}

const agentsOf = ({ kept, fresh }: Route) => [kept, fresh].flatMap((agents) => Object.values(agents) as http.Agent[])

// An idle connection is ours to close before the other side does, who would close it while we write.
const IDLE_MS = 10_000
// Node gives an address a quarter of a second before it tries the next, which is less than some continents are apart.
const NEXT_ADDRESS_MS = 1_000
const MAX_ADDRESSES = 8

function createRoute(
  resolve: Resolve,
  mayConnect: (address: string) => boolean,
  { maxConnectionsPerHost: maxSockets = 8, ca }: GuardedHttpOptions,
): Route {
  const common = {
    maxSockets,
    noDelay: true,
    timeout: IDLE_MS,
    lookup: guardedLookup(resolve, mayConnect),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  }
  // Said here, so that no variable of the environment can say otherwise.
  const tls = { rejectUnauthorized: true, ca }
  const agents = (keepAlive: boolean): Agents => ({
    'http:': new http.Agent({ ...common, keepAlive }),
    'https:': new https.Agent({ ...common, ...tls, keepAlive }),
  })
  return { kept: agents(true), fresh: agents(false) }
}

/** Asked once for each connection, which then goes to the addresses given here: no second answer can differ. */
function guardedLookup(resolve: Resolve, mayConnect: (address: string) => boolean): LookupFunction {
  const addressesOf = async (hostname: string) => {
    const found = await resolve(hostname).catch((error) => {
      throw new Refusal(failed('dns', codeOf(error)))
    })
    if (found.length === 0) throw new Refusal(failed('dns', 'ENODATA'))
    // One that leads inside is enough: whoever answers so does not mean well, or not us.
    if (!found.every(({ address }) => isIP(address) && mayConnect(address))) {
      throw new Refusal(failed('blocked_address', NOT_PUBLIC))
    }
    return found.slice(0, MAX_ADDRESSES).map(({ address }) => ({ address, family: isIP(address) }))
  }
  return (hostname, { all }, callback) => {
    addressesOf(hostname).then(
      (addresses) => (all ? callback(null, addresses) : callback(null, ...firstOf(addresses))),
      (error) => callback(error, []),
    )
  }
}

const firstOf = ([first]: LookupAddress[]): [string, number] => [first?.address ?? '', first?.family ?? 0]

const resolveAsSystem: Resolve = (hostname) => dns.lookup(hostname, { all: true })

/**
 * DNS itself rather than getaddrinfo, which blocks one of the few threads that the whole process has for names: two merchants
 * with a silent name server would stop every other name. Nor do /etc/hosts and search domains, which are inside, take part.
 */
export function createDnsResolve(servers?: string[]): Resolve {
  const resolver = new dns.Resolver({ timeout: 1_000, tries: 2 })
  if (servers) resolver.setServers(servers)
  return async (hostname) => {
    const families = [resolver.resolve4(hostname), resolver.resolve6(hostname)]
    const answers = await Promise.allSettled(families)
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const [ipv4] = answers
    if (found.length === 0 && ipv4?.status === 'rejected') throw ipv4.reason
    return found.map((address) => ({ address }))
  }
}

/** So many inside for each place; the others wait in line, in order. */
function createLines(maxInside: number, maxWaiting: number) {
  const places = new Map<string, { inside: number; line: Set<() => void> }>()
  return {
    /** Begins at once or later. False if the line is full. Who began must leave, once. */
    enter(name: string, begin: () => void): boolean {
      const place = places.get(name) ?? { inside: 0, line: new Set() }
      if (place.inside >= maxInside) return place.line.size < maxWaiting && place.line.add(begin).has(begin)
      places.set(name, place)
      place.inside++
      begin()
      return true
    },
    leave(name: string): void {
      const place = places.get(name)
      const [next] = place?.line ?? []
      if (next) {
        place?.line.delete(next)
        next()
      } else if (place && --place.inside === 0) places.delete(name)
    },
    /** Waits no longer. */
    giveUp(name: string, begin: () => void): void {
      places.get(name)?.line.delete(begin)
    },
  }
}
