import { Link } from 'wouter-preact'
import type { Overview } from '../../answers.ts'
import { Section } from '../../components/screen.tsx'
import { Status, type Tone } from '../../components/status.tsx'
import type { CurrentMerchant } from '../../session.ts'

/** Counts end here. */
const MOST = 100

interface Item {
  count: number
  one: string
  many: string
  /** Where it is dealt with. */
  path?: string
  tone: Tone
}

function itemsOf(overview: Overview): Item[] {
  const { openCases, transfers, openDisputes } = overview
  const { failingEndpoints, disabledEndpoints, givenUpDeliveries, expiringKeys } = overview
  return [
    {
      count: openCases,
      one: 'case needs your decision',
      many: 'cases need your decision',
      path: '/attention',
      tone: 'attention',
    },
    {
      count: transfers,
      one: 'transfer does not add up',
      many: 'transfers do not add up',
      path: '/transfers',
      tone: 'attention',
    },
    {
      count: openDisputes,
      one: 'open dispute',
      many: 'open disputes',
      path: '/disputes?status=open',
      tone: 'attention',
    },
    {
      count: failingEndpoints,
      one: 'webhook endpoint is failing',
      many: 'webhook endpoints are failing',
      path: '/webhooks',
      tone: 'bad',
    },
    {
      count: disabledEndpoints,
      one: 'webhook endpoint was switched off',
      many: 'webhook endpoints were switched off',
      path: '/webhooks',
      tone: 'bad',
    },
    {
      count: givenUpDeliveries,
      one: 'webhook was not delivered in the last 30 days',
      many: 'webhooks were not delivered in the last 30 days',
      path: '/webhooks?state=given-up',
      tone: 'bad',
    },
    {
      count: expiringKeys,
      one: 'API key expires within 14 days',
      many: 'API keys expire within 14 days',
      path: '/api-keys',
      tone: 'attention',
    },
  ]
}

/** Money, webhooks and keys that a person has to look at, and the health of the providers. */
export function Attention({ overview, merchant }: { overview: Overview; merchant: CurrentMerchant }) {
  const items = itemsOf(overview).filter(({ count }) => count > 0)
  return (
    <Section title="Needs attention">
      <ul class="needs">
        {items.map(({ count, one, many, path, tone }) => {
          const text = `${count >= MOST ? `${MOST} or more` : count} ${count === 1 ? one : many}`
          return (
            <li key={one}>
              <Status tone={tone}>{path ? <Link href={merchant.path(path)}>{text}</Link> : <span>{text}</span>}</Status>
            </li>
          )
        })}
        {items.length === 0 && (
          <li>
            <Status tone="good">Nothing. Money and webhooks are as they should be.</Status>
          </li>
        )}
        {overview.providers.map(({ provider, title, healthy }) => (
          <li key={provider}>
            <Status tone={healthy ? 'good' : 'bad'}>
              {title} {healthy ? 'answers' : 'did not answer several times in the last minute'}
            </Status>
          </li>
        ))}
      </ul>
    </Section>
  )
}
