import { open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../kernel/operator-error.ts'
import { explain, type Home } from './embedded-home.ts'
import { isAlive } from './os-process.ts'

/** Start lock: one start at a time per data folder. Two would create the files twice or start two servers on them. */
export async function withStartLock<T>(home: Home, start: () => Promise<T>): Promise<T> {
  const lock = join(home.dataDir, 'starting')
  await acquireLock(lock).catch((error) => {
    throw error instanceof OperatorError ? error : explain('The embedded PostgreSQL cannot start', home, String(error))
  })
  try {
    return await start()
  } finally {
    await rm(lock, { force: true })
  }
}

async function acquireLock(lock: string): Promise<void> {
  for (;;) {
    const taken = await open(lock, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    if (taken) {
      await taken.writeFile(await identityOf(process.pid)).finally(() => taken.close())
      return
    }
    if (await isAbandoned(lock)) await rm(lock, { force: true })
    await sleep(50)
  }
}

/** Whether the holder is gone, or died before it wrote its identity. */
async function isAbandoned(lock: string): Promise<boolean> {
  const holder = await readFile(lock, 'utf8').catch(() => '')
  const pid = Number.parseInt(holder, 10)
  if (pid) return !isAlive(pid) || holder !== (await identityOf(pid))
  const age = Date.now() - ((await stat(lock).catch(() => undefined))?.mtimeMs ?? Date.now())
  return age > 5_000
}

/** The process id and, on Linux, its start time: containers reuse low process ids at every start. */
async function identityOf(pid: number): Promise<string> {
  const facts = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const startTime = facts.slice(facts.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  return `${pid} ${startTime}`
}
