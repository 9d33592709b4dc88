import type { AlertKind } from '../events/alert-kind.ts'
import type { Permission } from '../members/permissions.ts'

interface About {
  /** What the role of a member must be allowed to see it: as the screen. */
  permission: Permission
  /** The screen below `/dashboard/{merchant}/{mode}`. */
  screen: string
  one: string
  many(count: number): string
}

export const ALERTS: Record<AlertKind, About> = {
  dispute_opened: {
    permission: 'read',
    screen: '/disputes',
    one: 'A dispute was opened',
    many: (count) => `${count} disputes were opened`,
  },
  dispute_due: {
    permission: 'read',
    screen: '/disputes',
    one: 'A dispute must be answered within 3 days',
    many: (count) => `${count} disputes must be answered within 3 days`,
  },
  refund_failed: {
    permission: 'read',
    screen: '/attention',
    one: 'A refund failed',
    many: (count) => `${count} refunds failed`,
  },
  case_opened: {
    permission: 'read',
    screen: '/attention',
    one: 'A case needs a person',
    many: (count) => `${count} cases need a person`,
  },
  settlement: {
    permission: 'read',
    screen: '/attention',
    one: 'A settlement is late or different',
    many: (count) => `${count} settlements are late or different`,
  },
  provider_failing: {
    permission: 'settings',
    screen: '/providers',
    one: 'A provider fails, or refuses the keys',
    many: (count) => `${count} failures of providers`,
  },
  webhooks_failing: {
    permission: 'read',
    screen: '/webhooks',
    one: 'A webhook endpoint has failed for an hour',
    many: (count) => `${count} webhook endpoints have failed for an hour`,
  },
  live_key: {
    permission: 'keys',
    screen: '/api-keys',
    one: 'A live API key was made',
    many: (count) => `${count} live API keys were made`,
  },
}

export const titleOf = (kind: AlertKind, count: number): string =>
  count === 1 ? ALERTS[kind].one : ALERTS[kind].many(count)
