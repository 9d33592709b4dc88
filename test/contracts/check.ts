import type { ProviderClient } from '../../src/providers/provider.ts'
import type { ChannelSample } from '../fakes/conformance-rig.ts'
import type { StartFake } from '../fakes/fake-provider.ts'
import { startFakePaystack } from '../fakes/paystack/fake.ts'
import { SAMPLES } from '../fakes/paystack/samples.ts'
import { startFakeStripe } from '../fakes/stripe/fake.ts'
import { callsOf, type Description, judge, readDescription } from './description.ts'
import { driveEveryCall, type Made } from './drive.ts'
import { type Gap, PAYSTACK_GAPS, STRIPE_GAPS } from './gaps.ts'
import type { Fault } from './schema.ts'

export interface Contract {
  name: string
  file: string
  gaps: Gap[]
  startFake: StartFake
  channels?: readonly ChannelSample[]
}

/** The providers that publish an OpenAPI description. */
export const CONTRACTS: Contract[] = [
  { name: 'paystack', file: 'paystack.json', gaps: PAYSTACK_GAPS, startFake: startFakePaystack, channels: SAMPLES },
  { name: 'stripe', file: 'stripe.json', gaps: STRIPE_GAPS, startFake: startFakeStripe },
]

export interface Findings {
  /** By their call: how often it was made, for which of our calls, and which gaps it needed. */
  calls: Map<string, { times: number; during: Set<keyof ProviderClient>; gaps: Set<Gap> }>
  /** One sentence for each mistake. */
  wrong: string[]
}

export async function checkContract({ file, gaps, startFake, channels }: Contract): Promise<Findings> {
  const ends: (() => Promise<void>)[] = []
  const fake = await startFake({ after: (end) => ends.push(end) })
  const description = readDescription(file)
  const made: Made[] = []
  try {
    await driveEveryCall(fake, made, channels)
  } catch (error) {
    // The fake refused a request. It is among the last ones, and the description names its mistake.
    const { calls, wrong } = judgeAll(description, gaps, made)
    return { calls, wrong: [...wrong, `stopped after ${made.length} requests: ${(error as Error).message}`] }
  } finally {
    for (const end of ends) await end()
  }
  const { calls, wrong } = findingsOf(description, gaps, made)
  // Requests went to the fake; the real ones go to the server of the description.
  const server = description.servers[0]?.url.replace(/\/$/, '')
  const ours = new Set(Object.values(fake.provider.baseURL ?? {}))
  return {
    calls,
    wrong: [...wrong, ...[...ours].filter((url) => url !== server).map((url) => `${url} is not ${server}`)],
  }
}

/** Over all requests: a gap or a call that none of them used is not needed. */
export function findingsOf(description: Description, gaps: Gap[], made: Made[]): Findings {
  const { calls, wrong } = judgeAll(description, gaps, made)
  const used = new Set([...calls.values()].flatMap((row) => [...row.gaps]))
  const unneeded = gaps.filter((gap) => !used.has(gap))
  const unmade = callsOf(description).filter((call) => !calls.has(call))
  return {
    calls,
    wrong: [
      ...wrong,
      ...unneeded.map(({ name }) => `the gap “${name}” is one no more: strike it from the list`),
      ...unmade.map((call) => `${call} is described, and no request of ours makes it: leave it out`),
    ],
  }
}

function judgeAll(description: Description, gaps: Gap[], made: Made[]): Findings {
  const calls: Findings['calls'] = new Map()
  const wrong = new Set<string>()
  for (const { during, call: request } of made) {
    const { call, faults, findFaults } = judge(description, request)
    const row = calls.get(call) ?? { times: 0, during: new Set(), gaps: new Set() }
    calls.set(call, row)
    row.times++
    row.during.add(during)
    const written = request.headers?.['content-type'] === 'application/json' ? 'json' : 'form'
    for (const fault of faults) {
      const gap = gaps.find((gap) => isOf(gap, call, fault))
      if (gap) row.gaps.add(gap)
      const left = gap ? (gap.schema ? findFaults(fault.value, gap.schema, fault.field, written) : []) : [fault]
      for (const each of left) wrong.add(`${call} in ${during}: ${sentenceOf(each)}`)
    }
  }
  return { calls, wrong: [...wrong] }
}

const isOf = (gap: Gap, call: string, { field, rule, value }: Fault) =>
  gap.call === call && gap.field === field && gap.rule === rule && (gap.value === undefined || gap.value === value)

function sentenceOf({ rule, field, value }: Fault): string {
  const said = value === undefined ? '' : ` (${JSON.stringify(value).slice(0, 80)})`
  return `${field} is against the rule “${rule}”${said}`
}
