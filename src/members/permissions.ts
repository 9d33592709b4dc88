export const ROLES = ['owner', 'admin', 'developer', 'support', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/**
 * What each role may do with its merchant. Every endpoint of the dashboard names one of these permissions, and
 * docs/dashboard.md shows the same table.
 */
export const PERMISSIONS = {
  /** Read payments, links, refunds, transfers, webhooks and charts; export. */
  read: ['owner', 'admin', 'developer', 'support', 'viewer'],
  /** Create and cancel payments and links, resync, resend webhooks. */
  payments: ['owner', 'admin', 'developer', 'support'],
  /** Refund, match or return transfers, mark as reviewed. Support: up to the merchant's limit. */
  refunds: ['owner', 'admin', 'support'],
  /** API keys, webhook endpoints and their secrets. */
  keys: ['owner', 'admin', 'developer'],
  /** Providers, branding, settings, erase a customer. */
  settings: ['owner', 'admin'],
  /** Members below the owner, their roles and invitations; the audit log. */
  members: ['owner', 'admin'],
  /** Transfer the ownership, require a second factor. */
  ownership: ['owner'],
} as const satisfies Record<string, readonly Role[]>

export type Permission = keyof typeof PERMISSIONS

export function isAllowed(role: Role, permission: Permission): boolean {
  return (PERMISSIONS[permission] as readonly Role[]).includes(role)
}

export function permissionsOf(role: Role): Permission[] {
  return (Object.keys(PERMISSIONS) as Permission[]).filter((permission) => isAllowed(role, permission))
}

/** A role that members with the permission `members` may grant and change. The owner changes by transfer only. */
export type GrantedRole = Exclude<Role, 'owner'>
export const GRANTED_ROLES = ROLES.filter((role): role is GrantedRole => role !== 'owner')
