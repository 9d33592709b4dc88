import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pooledUrl } from './database.ts'
import { startProcess } from './process.ts'

/** The service with ROLE=worker on the database of a test, whose own process then serves the API. */
export async function startWorkerProcess(
  databaseUrl: string,
  masterKey: Buffer,
  baseUrl: string,
  settings: Record<string, string> = {},
): Promise<{ stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-worker-'))
  const pooled = pooledUrl(databaseUrl)
  const { child, exited } = await startProcess({
    ROLE: 'worker',
    DATABASE_URL: pooled ?? databaseUrl,
    ...(pooled && { DATABASE_DIRECT_URL: databaseUrl }),
    DATA_DIR: folder,
    SECRET_KEY: masterKey.toString('base64'),
    PUBLIC_URL: baseUrl,
    WEBHOOK_ALLOW_PRIVATE: 'sandbox',
    ...settings,
  })
  return {
    async stop() {
      child.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
