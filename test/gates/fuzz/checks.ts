import { isDeepStrictEqual } from 'node:util'
import type { RawAnswer } from '../raw-http.ts'
import type { Body } from './checkouts.ts'
import type { FuzzCase } from './requests.ts'

/**
 * What is wrong with an answer: one sentence for each fault. `dependable`: the outcome is as expected, or it is wrong.
 */
export function faultsOf(sent: FuzzCase, answer: RawAnswer, dependable: boolean): string[] {
  const { status, headers, body } = answer
  const faults: string[] = []
  if (!(status >= 200 && status < 500)) faults.push(`status ${status}`)
  else if (dependable && !sent.expected.includes(status))
    faults.push(`status ${status}, expected ${sent.expected.join(' or ')}`)
  if (!headers.get('request-id')) faults.push(`no request-id on a ${status}`)
  if (headers.has('x-injected')) faults.push('a header of ours was split')
  if (/node_modules|\/src\/[a-z-]+\/|\.ts:\d+/.test(body)) faults.push('the answer tells of our insides')
  if (/^text\/html/.test(headers.get('content-type') ?? '') && /<script|<img/.test(withoutOurOwn(body)))
    faults.push('markup came through')
  if (status >= 400 && status < 500 && sent.method !== 'HEAD' && !isPage(sent, headers))
    faults.push(...problemFaults(answer))
  return faults
}

/** Errors on customer paths are HTML pages. */
function isPage({ target }: FuzzCase, headers: Map<string, string>): boolean {
  return /^\/(pay|s|l|return|widget)\//.test(target) && headers.get('content-type') === 'text/html; charset=utf-8'
}

const MEMBERS = {
  type: 'string',
  title: 'string',
  status: 'number',
  detail: 'string',
  code: 'string',
  retryable: 'boolean',
}

function problemFaults({ status, headers, body }: RawAnswer): string[] {
  const type = headers.get('content-type') ?? 'nothing'
  if (!type.startsWith('application/problem+json')) return [`a ${status} of type ${type}`]
  let problem: Record<string, unknown>
  try {
    problem = JSON.parse(body)
  } catch {
    return [`a ${status} whose problem is not JSON`]
  }
  const wrong = Object.entries(MEMBERS).filter(([name, kind]) => typeof problem[name] !== kind)
  const faults = wrong.map(([name]) => `a ${status} whose problem has no ${name}`)
  if (problem.status !== status) faults.push(`a ${status} whose problem says ${problem.status}`)
  if (problem.requestId !== headers.get('request-id')) faults.push(`a ${status} whose requestId is not its request-id`)
  return faults
}

/** Compares a payment as it is read now with its 201 and its request. */
export function readBackFaults(
  body: Body,
  promised: Record<string, unknown>,
  payment: Record<string, unknown>,
): string[] {
  // Through JSON, as the service saw it: a number as written becomes a number, undefined goes.
  const asked = JSON.parse(JSON.stringify(body)) as Record<string, unknown> & { user: Record<string, string> }
  const name = asked.user.name?.normalize('NFC') ?? null
  const expected: Record<string, unknown> = {
    ...promised, // id, url, shortURL, reference, amount
    amount: asked.amount,
    reference: asked.reference,
    currency: String(asked.currency || 'NGN').toUpperCase(),
    country: 'NG',
    customerBearsCharge: asked.customerBearsCharge ?? false,
    user: { id: asked.user.id ?? null, email: asked.user.email, phoneNumber: asked.user.phoneNumber ?? null, name },
    redirectURL: asked.redirectURL ?? null,
    webhook: asked.webhook ?? null,
    metadata: asked.metadata ?? {},
  }
  return Object.entries(expected)
    .filter(([member, value]) => !isDeepStrictEqual(payment[member], value))
    .map(([member]) => `read back with another ${member}`)
}

/**
 * A page without what every page has: its script (the widget's tells of an error), and the picture that takes it to a
 * phone.
 */
function withoutOurOwn(page: string): string {
  return page
    .replace(/<script type="module">[\s\S]*?<\/script>/, '')
    .replace(/<script>\{const\{code,to\}=[^<]*<\/script>\n$/, '')
    .replace(/<img src="[^"]*\/s\/\w+\/qr\.svg" alt="" width="148" height="148" loading="lazy">/, '')
}
