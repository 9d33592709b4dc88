/** `src/http/api/scopes.ts` lists the routes of each scope, docs/operations/keys.md describes them. */
export const CREDENTIAL_SCOPES = [
  'payments:write',
  'payments:read',
  'refunds',
  'integrations',
  'webhooks',
  'cases:read',
  'cases:write',
] as const
export type CredentialScope = (typeof CREDENTIAL_SCOPES)[number]
