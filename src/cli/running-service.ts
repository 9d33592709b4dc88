import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { isAlive } from '../database/os-process.ts'

/** The URLs of a service. `baseUrl` is the public one, `serverUrl` reaches the process from this machine. */
export interface ServiceUrls {
  baseUrl: string
  serverUrl: string
}

const fileIn = ({ dataDir }: Config) => join(dataDir, 'service.json')

/** `serve` records its URLs in DATA_DIR, so that the other commands find it on any port. */
export async function recordRunningService(config: Config, { baseUrl, serverUrl }: ServiceUrls): Promise<void> {
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
  await writeFile(fileIn(config), `${JSON.stringify({ pid: process.pid, baseUrl, serverUrl })}\n`, { mode: 0o600 })
}

export async function forgetRunningService(config: Config): Promise<void> {
  if ((await readRecord(config))?.pid === process.pid) await rm(fileIn(config), { force: true })
}

/** The URLs of the running service of this DATA_DIR. Without one: PUBLIC_URL, or localhost with PORT. */
export async function findServiceUrls(config: Config): Promise<ServiceUrls> {
  const record = await readRecord(config)
  if (record && isAlive(record.pid)) return record
  const url = config.publicUrl ?? `http://localhost:${config.port}`
  return { baseUrl: url, serverUrl: url }
}

async function readRecord(config: Config): Promise<(ServiceUrls & { pid: number }) | undefined> {
  try {
    return JSON.parse(await readFile(fileIn(config), 'utf8'))
  } catch {
    return undefined // absent, or written at this moment
  }
}
