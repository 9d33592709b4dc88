import type { Timeline } from './provider-account.ts'
import type { Journey, Way } from './ways.ts'

/** A part of a payment: from one time to another, as merchant, customer and provider saw them. */
type Step = [name: string, from: string, to: string]

const WHOLE: Step = ['whole payment', 'begun', 'told']
const AFTER_PAYING: Step[] = [
  ['notice, until 2xx', 'noticeSent', 'noticeAnswered'],
  ['notice, until our check', 'noticeSent', 'checkAsked'],
  ['settle, until the webhook', 'checkAsked', 'told'],
]
const INITIALIZED: Step[] = [
  WHOLE,
  ['initialize, until the provider is called', 'begun', 'startAsked'],
  ['initialize, from the call on', 'startAsked', 'initialized'],
  ['customer pays (provider)', 'initialized', 'paid'],
  ...AFTER_PAYING,
]

const ON_PAGE: Step[] = [
  ['open the page', 'created', 'opened'],
  ['submit, until the provider is called', 'opened', 'startAsked'],
  ['submit, from the call on', 'startAsked', 'submitted'],
  ['customer pays (provider)', 'submitted', 'paid'],
  ['return', 'paid', 'returned'],
  ...AFTER_PAYING,
]

const STEPS: Record<Way, Step[]> = {
  initialize: INITIALIZED,
  account: INITIALIZED,
  page: [WHOLE, ...ON_PAGE],
  'create and page': [WHOLE, ['create', 'begun', 'created'], ...ON_PAGE],
}

export interface StepTimes {
  name: string
  p50Ms: number
  p99Ms: number
}

/** The whole is the first. */
export function stepTimes(way: Way, journeys: Journey[], timelines: Timeline[]): StepTimes[] {
  const byOrder = new Map(timelines.map((timeline) => [timeline.order, timeline]))
  const marks = journeys.map(
    (journey): Record<string, unknown> => ({ ...journey.marks, ...byOrder.get(journey.order) }),
  )
  return STEPS[way].map(([name, from, to]) => {
    const sorted = marks.map((each) => Number(each[to]) - Number(each[from])).sort((a, b) => a - b)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
    return { name, p50Ms: at(0.5), p99Ms: at(0.99) }
  })
}
