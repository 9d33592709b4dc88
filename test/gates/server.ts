import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../src/database/embedded.ts'

interface Ground {
  /** Of this run alone; the server keeps its data there. */
  folder: string
  databaseUrl: string
}

/** Runs it on an empty PostgreSQL of its own, which is gone afterwards. `envOf`: more environment of the server. */
export async function withServer<Result>(
  name: string,
  run: (ground: Ground) => Promise<Result>,
  envOf: (folder: string) => Record<string, string> = () => ({}),
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), `manilla-${name}-`))
  try {
    const env = envOf(folder)
    Object.assign(process.env, env) // the server inherits it; it supervises itself, and restarts on the same port
    const server = await startEmbedded({ dataDir: folder, purpose: 'own' }).finally(() => {
      for (const each of Object.keys(env)) delete process.env[each]
    })
    try {
      return await run({ folder, databaseUrl: server.url })
    } finally {
      await server.stop()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
