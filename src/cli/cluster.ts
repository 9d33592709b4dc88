import cluster, { type Worker } from 'node:cluster'
import type { Logger } from 'pino'
import { openDeps, type Service } from '../compose.ts'
import type { Config } from '../config/config.ts'
import { loadKeys } from '../config/generated-keys.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { answerMetrics } from '../metrics/cluster-metrics.ts'

/** What a worker tells the primary process when it is ready. */
export type ReadyService = Omit<Service, 'stop'>

/** A worker that ends is replaced after this time, so that one that cannot start does not use up a core. */
const REPLACE_AFTER_MS = 1_000
/** A worker that hangs is killed, before `serve` ends this process after 9.5 s and leaves it behind. */
const KILL_AFTER_MS = 8_500

export interface ClusterProcess {
  service: ReadyService
  stop(signal: NodeJS.Signals): Promise<void>
}

/**
 * The primary process of WORKERS=n: it starts the embedded PostgreSQL if that is used, and n workers that share one
 * port (node:cluster). Each worker is a whole service, and all state is in the database, so that a worker may end at
 * any time.
 */
export async function startCluster(config: Config, log: Logger): Promise<ClusterProcess> {
  const deps = await openDeps(config, 'own', log)
  let stopping = false
  const stop = async (signal: NodeJS.Signals) => {
    stopping = true
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    await Promise.all(workers.map((worker) => ended(worker, signal)))
    await deps.close()
  }
  try {
    const { secretKey } = await loadKeys(config) // generated before a worker looks for them
    const env = {
      DATABASE_URL: config.databaseUrl ?? deps.directUrl,
      SECRET_KEY: secretKey.toString('base64'),
      WEBHOOK_ALLOW_PRIVATE: config.webhookAllowPrivate, // its default depends on DATABASE_URL
    }
    answerMetrics()
    // The first worker migrates, and finds a free port for all. Workers that listen on port 0 get the same free port
    // from node:cluster.
    const service = await startedBy(cluster.fork(env))
    const port = config.port === 0 ? '0' : new URL(service.serverUrl).port
    const fork = () => cluster.fork({ ...env, PORT: port })
    await Promise.all(Array.from({ length: config.workers - 1 }, () => startedBy(fork())))
    cluster.on('exit', ({ process: { pid } }, code, signal) => {
      if (stopping) return
      log.error({ signal }, `worker ${pid} ended unexpectedly (exit code ${code}) and is replaced`)
      setTimeout(() => stopping || fork(), REPLACE_AFTER_MS)
    })
    // A worker may have ended while the others started.
    for (let count = Object.keys(cluster.workers ?? {}).length; count < config.workers; count++) fork()
    return { service, stop }
  } catch (error) {
    await stop('SIGTERM')
    throw error
  }
}

function startedBy(worker: Worker): Promise<ReadyService> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('exit', (code) => reject(new OperatorError(`A worker did not start (exit code ${code}).`)))
  })
}

function ended(worker: Worker, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => worker.process.kill('SIGKILL'), KILL_AFTER_MS)
    worker.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    worker.process.kill(signal)
  })
}
