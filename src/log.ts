import { type DestinationStream, destination, type Logger, pino } from 'pino'
import { shortenPageIds } from './kernel/page-secrets.ts'

/**
 * Structured log lines with an allow list of fields: a secret that is passed by mistake is not on the list, so it is
 * not written.
 */
const FIELDS = new Set([
  'requestId',
  'method',
  'route',
  'status',
  'tookMs',
  'merchantId',
  'mode',
  'paymentId',
  'attemptId',
  'noticeId',
  'refundId',
  'call',
  'eventId',
  'endpointId',
  'clientId',
  'provider',
  'outcome',
  'migrations',
  'signal',
  'port',
  'count',
  'err',
  'job',
])

function pickFields(fields: Record<string, unknown>): Record<string, unknown> {
  const picked: Record<string, unknown> = {}
  for (const name in fields) {
    if (FIELDS.has(name) && fields[name] !== undefined) picked[name] = fields[name]
  }
  return picked
}

export function createLog(
  level: string,
  stream: DestinationStream = destination({ dest: 2, sync: false, minLength: 4096, periodicFlush: 100 }),
): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: pickFields,
      },
      // Applied to the whole line: an id may also be in an error message or a URL.
      hooks: { streamWrite: shortenPageIds },
      // Only type, message and stack of an error: a database error also has the values of the row.
      serializers: {
        err: (error: unknown) =>
          error instanceof Error
            ? { type: error.name, code: (error as { code?: unknown }).code, message: error.message, stack: error.stack }
            : { type: typeof error },
      },
    },
    stream,
  )
}
