import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/**
 * Of the real program on an empty database. The same keys for all copies, so that each can decrypt what another sealed.
 */
export function serviceSettings(databaseUrl: string, folder: string) {
  return {
    SANDBOX_CLIENT_ID: `cid_sandbox_${randomBytes(8).toString('hex')}`,
    SANDBOX_CLIENT_SECRET: `sec_sandbox_${randomBytes(32).toString('hex')}`,
    SECRET_KEY: randomBytes(32).toString('base64'),
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, 'service'),
    RATE_LIMIT: 'off',
    WEBHOOK_ALLOW_PRIVATE: 'sandbox',
    LOG_LEVEL: 'error',
    NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'), // as `npm start` sets it
  }
}

type Settings = ReturnType<typeof serviceSettings>

/** What the sandbox merchant sends with each call. */
export const headersOf = ({ SANDBOX_CLIENT_ID, SANDBOX_CLIENT_SECRET }: Settings) => ({
  'client-id': SANDBOX_CLIENT_ID,
  'client-secret': SANDBOX_CLIENT_SECRET,
})
