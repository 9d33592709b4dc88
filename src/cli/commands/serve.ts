import cluster from 'node:cluster'
import type { Logger } from 'pino'
import { startService } from '../../compose.ts'
import { type Config, readConfig } from '../../config/config.ts'
import { createLog } from '../../log.ts'
import { banner } from '../banner.ts'
import { type ReadyService, startCluster } from '../cluster.ts'
import type { Command } from '../command.ts'
import { notifySystemd } from '../notify-systemd.ts'
import { forgetRunningService, recordRunningService } from '../running-service.ts'
import { startWatchdog } from '../watchdog.ts'

const STOP_WITHIN_MS = 9_500

interface Running {
  service: ReadyService
  stop(signal: NodeJS.Signals): Promise<void>
}

export const serve: Command = {
  name: 'serve',
  summary: 'Run the service (npm start does this)',
  options: {},
  async run() {
    const config = readConfig(process.env)
    const log = createLog(config.logLevel)
    // After an unexpected error the state of the process is unknown. A supervisor starts a new one, and all state is in
    // the database.
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (err) => {
        log.fatal({ err }, event)
        log.flush(() => process.exit(1))
      })
    }

    const starting = config.workers > 1 && cluster.isPrimary ? startCluster(config, log) : startAlone(config, log)
    let stopping = false
    const stop = async (signal: NodeJS.Signals) => {
      if (stopping) return
      stopping = true
      log.info({ signal }, 'stopping')
      setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref()
      const running = await starting
      await forgetRunningService(config)
      await running.stop(signal)
      log.info('stopped')
      log.flush(() => process.exit(0))
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)

    const { service } = await starting
    startWatchdog(log)
    if (cluster.worker) return void cluster.worker.send(service)
    if (config.role !== 'worker')
      await recordRunningService(config, service).catch((err) =>
        log.warn({ err }, 'the URL of the service was not recorded in DATA_DIR; commands need --url'),
      )
    notifySystemd(log, process.env)
    process.stdout.write(banner(service, config, process.stdout.isTTY))
  },
}

async function startAlone(config: Config, log: Logger): Promise<Running> {
  const { stop, ...service } = await startService(config, log)
  return { service, stop: (signal) => stop(signal === 'SIGTERM') }
}
