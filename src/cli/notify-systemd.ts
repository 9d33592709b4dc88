import { execFile } from 'node:child_process'
import type { Logger } from 'pino'

const NOTIFY_WITHIN_MS = 5_000

/**
 * Tells systemd that the service is ready and then, until WatchdogSec, that its event loop turns. Node has no Unix
 * datagram sockets, so each message is one run of `systemd-notify`, which a blocked event loop does not start. Nothing
 * is sent without a unit of `Type=notify`.
 */
export function notifySystemd(log: Logger, env: NodeJS.ProcessEnv): void {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, PATH } = env
  if (!NOTIFY_SOCKET) return
  const send = (message: string) =>
    execFile('systemd-notify', [message], { env: { NOTIFY_SOCKET, PATH }, timeout: NOTIFY_WITHIN_MS }, (err) => {
      if (err) log.error({ err }, 'systemd-notify failed; systemd may restart the service')
    })
  send('READY=1')
  const everyMs = Number(WATCHDOG_USEC) / 1_000 / 3
  if (everyMs > 0) setInterval(() => send('WATCHDOG=1'), everyMs).unref()
}
