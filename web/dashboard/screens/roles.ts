import type { Role } from '../answers.ts'

/** The roles that can be granted, with what they may do. */
export const GRANTED: readonly (readonly [role: Exclude<Role, 'owner'>, about: string])[] = [
  ['admin', 'Everything except transferring the ownership.'],
  ['developer', 'Payments, API keys and webhooks. No refunds.'],
  ['support', 'Payments, and refunds up to the limit. No keys.'],
  ['viewer', 'Reads and exports. Changes nothing.'],
]

/** `admin` is "Admin". */
export function inWords(role: Role): string {
  return role[0]?.toUpperCase() + role.slice(1)
}
