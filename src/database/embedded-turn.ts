import { open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../kernel/operator-error.ts'
import { explain, type Home } from './embedded-home.ts'
import { isAlive } from './os-process.ts'

/** One start at a time on a data folder: two at once would make the files twice, or start two servers on them. */
export async function inTurn<T>(home: Home, start: () => Promise<T>): Promise<T> {
  const lock = join(home.dataDir, 'starting')
  await waitForTurn(lock).catch((error) => {
    throw error instanceof OperatorError ? error : explain('The embedded PostgreSQL cannot start', home, String(error))
  })
  try {
    return await start()
  } finally {
    await rm(lock, { force: true })
  }
}

async function waitForTurn(lock: string): Promise<void> {
  for (;;) {
    const taken = await open(lock, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
    if (taken) {
      await taken.writeFile(await nameOf(process.pid)).finally(() => taken.close())
      return
    }
    if (await isAbandoned(lock)) await rm(lock, { force: true })
    await sleep(50)
  }
}

/** Its holder is gone, or died before it could even write its name. */
async function isAbandoned(lock: string): Promise<boolean> {
  const holder = await readFile(lock, 'utf8').catch(() => '')
  const pid = Number.parseInt(holder, 10)
  if (pid) return !isAlive(pid) || holder !== (await nameOf(pid))
  const age = Date.now() - ((await stat(lock).catch(() => undefined))?.mtimeMs ?? Date.now())
  return age > 5_000
}

/** The process id, and where the system tells it, when that process began: a container gives its first ids to every start. */
async function nameOf(pid: number): Promise<string> {
  const facts = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const began = facts.slice(facts.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  return `${pid} ${began}`
}
