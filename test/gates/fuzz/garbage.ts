import type { Bench, Made } from './requests.ts'
import { bytesOf } from './wire.ts'

/** Bytes that are not HTTP, or not HTTP from some point on. */
const CHECKOUTS = '/payments/v1/checkouts'

function broken(bytes: Buffer | string, how: Made['how'] = 'broken'): Made {
  return {
    method: 'POST',
    target: CHECKOUTS,
    how,
    expected: [400, 408, 431],
    bytes: typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes,
  }
}

const HEADS = [
  'GET /healthz HTTP/1.1\r\nhost: a\r\nx-a: one\rx-injected: 1\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nhost: a\r\nx-a: \0\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nhost: a\r\nno colon here\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nhost: a\r\nspace : b\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nhost: a\r\n : empty\r\n\r\n',
  'GET /healthz HTTP/9.9\r\nhost: a\r\n\r\n',
  'GET /heal thz HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET healthz HTTP/1.1\r\nhost: a\r\n\r\n',
  'GET /healthz HTTP/1.1\r\n\r\n', // no Host
  'get /healthz HTTP/1.1\r\nhost: a\r\n\r\n',
  `POST ${CHECKOUTS} HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n`,
  `POST ${CHECKOUTS} HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcde`,
  `POST ${CHECKOUTS} HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  `POST ${CHECKOUTS} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n`,
  `POST ${CHECKOUTS} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\nabc`,
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'CONNECT elsewhere.example:443 HTTP/1.1\r\nhost: a\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  '\r\n\r\n\r\n',
  '\0',
]

function checkout({ credentials, good }: Bench): Buffer {
  const headers = [...credentials, ['content-type', 'application/json'] as const]
  return bytesOf({ method: 'POST', target: CHECKOUTS, headers, body: JSON.stringify(good()) })
}

export const BROKEN: Record<string, (bench: Bench) => Made> = {
  head: ({ random }) => {
    const head = random.pick(HEADS)
    // Some are valid requests, which are refused with 401 or 404.
    return { ...broken(head), expected: [400, 401, 404, 405, 408, 426, 431, 501, 505].filter((status) => status < 500) }
  },
  'random bytes': ({ random }) => broken(random.bytes(random.between(1, 2_000))),
  // Half a request and no more to come: the body is shorter than it says.
  'half a request': (bench) => {
    const bytes = checkout(bench)
    return broken(bytes.subarray(0, bench.random.between(1, bytes.length - 1)))
  },
  'socket closed': (bench) => {
    const bytes = checkout(bench)
    // Up to all of it: a client that sent everything and is gone before the answer.
    return broken(bytes.subarray(0, bench.random.between(1, bytes.length)), 'cut')
  },
  'one byte changed': (bench) => {
    const bytes = checkout(bench)
    bytes[bench.random.between(0, bytes.indexOf('\r\n\r\n'))] = bench.random.between(0, 255)
    // It may change an optional field name; then this is a valid checkout.
    return { ...broken(bytes), expected: [201, 400, 401, 404, 405, 408, 413, 415, 417, 422, 431] }
  },
}
