import type { ComponentType } from 'preact'
import type { Permission } from './answers.ts'

export interface ScreenRoute {
  /** Below `/dashboard/{merchant}/{mode}`. */
  path: string
  /** The name in the navigation. A screen without one is opened from another screen. */
  name?: string
  /** The heading above this group of names. */
  group?: string
  permission: Permission
  load: () => Promise<{ default: ComponentType }>
}

/** The screens of a merchant, in the order of the navigation. */
export const SCREENS: ScreenRoute[] = [
  { path: '', name: 'Overview', permission: 'read', load: () => import('./screens/overview.tsx') },
  { path: '/payments', name: 'Payments', permission: 'read', load: () => import('./screens/payments.tsx') },
  { path: '/payments/:payment', permission: 'read', load: () => import('./screens/payment.tsx') },
  { path: '/links', name: 'Links', permission: 'read', load: () => import('./screens/links.tsx') },
  { path: '/links/:link', permission: 'read', load: () => import('./screens/link.tsx') },
  { path: '/links/:link/poster', permission: 'read', load: () => import('./screens/link-poster.tsx') },
  { path: '/customers', name: 'Customers', permission: 'read', load: () => import('./screens/customers.tsx') },
  { path: '/attention', name: 'Needs attention', permission: 'read', load: () => import('./screens/cases.tsx') },
  { path: '/transfers', name: 'Transfers', permission: 'read', load: () => import('./screens/transfers.tsx') },
  { path: '/refunds', name: 'Refunds', permission: 'read', load: () => import('./screens/refunds.tsx') },
  { path: '/disputes', name: 'Disputes', permission: 'read', load: () => import('./screens/disputes.tsx') },
  {
    path: '/settlements',
    name: 'Settlements',
    permission: 'read',
    load: () => import('./screens/settlements.tsx'),
  },
  { path: '/settlements/unsettled', permission: 'read', load: () => import('./screens/settlements/unsettled.tsx') },
  { path: '/settlements/bank', permission: 'read', load: () => import('./screens/settlements/bank.tsx') },
  { path: '/settlements/fees', permission: 'read', load: () => import('./screens/settlements/fees.tsx') },
  { path: '/settlements/:settlement', permission: 'read', load: () => import('./screens/settlement.tsx') },
  {
    path: '/webhooks',
    name: 'Webhooks',
    group: 'Developers',
    permission: 'read',
    load: () => import('./screens/webhooks.tsx'),
  },
  {
    path: '/api-keys',
    name: 'API keys',
    group: 'Developers',
    permission: 'keys',
    load: () => import('./screens/api-keys.tsx'),
  },
  {
    path: '/providers',
    name: 'Providers',
    group: 'Merchant',
    permission: 'settings',
    load: () => import('./screens/providers.tsx'),
  },
  {
    path: '/branding',
    name: 'Branding',
    group: 'Merchant',
    permission: 'settings',
    load: () => import('./screens/branding.tsx'),
  },
  {
    path: '/members',
    name: 'Members',
    group: 'Merchant',
    permission: 'members',
    load: () => import('./screens/members.tsx'),
  },
  {
    path: '/settings',
    name: 'Settings',
    group: 'Merchant',
    permission: 'settings',
    load: () => import('./screens/settings.tsx'),
  },
  {
    path: '/alerts',
    name: 'Alerts',
    group: 'Merchant',
    permission: 'read',
    load: () => import('./screens/alerts.tsx'),
  },
  {
    path: '/audit-log',
    name: 'Audit log',
    group: 'Merchant',
    permission: 'members',
    load: () => import('./screens/audit-log.tsx'),
  },
]
