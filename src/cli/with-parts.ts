import { userInfo } from 'node:os'
import { openParts, type Parts } from '../compose.ts'
import { readConfig } from '../config.ts'
import { migrate } from '../database/migrate.ts'

/** Works on the database of the running service, or starts the embedded one for as long as the work takes. */
export async function withParts<Result>(work: (parts: Parts) => Promise<Result>): Promise<Result> {
  const parts = await openParts(readConfig(process.env), 'join')
  try {
    await migrate(parts.databaseUrl)
    return await work(parts)
  } finally {
    await parts.close()
  }
}

/** For the audit log: who is at the keyboard. */
export function actor(): string {
  try {
    return `cli:${userInfo().username}`
  } catch {
    return `cli:uid ${process.getuid?.()}` // a container may run as a user that has no name
  }
}
