import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { noticeKeysCache } from '../../payments/settle/read-notice-keys.ts'
import {
  answerQuestion,
  processNotice,
  receiveNotice,
  scheduleCheckForHint,
} from '../../payments/settle/receive-notice.ts'
import { MAX_NOTICE_BYTES } from '../../payments/state/notice.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'
import { RateLimiter } from '../server/rate-limit.ts'

/** Limits re-reading the keys of a merchant after a bad signature. RATE_LIMIT=off does not lift it. */
const READ_AGAIN = { perSecond: 1, burst: 10 }

/** Notices above `MAX_NOTICE_BYTES` that are in memory at once, signed or not: this bounds what strangers can fill. */
const MOST_LARGE = 8
/** Lines of the log about refused notices. */
const REFUSED_LINES = { perSecond: 1 / 60, burst: 5 }

/**
 * Receives notices of providers. A signed notice is stored, answered 2xx, and then processed. A forged one costs only
 * the check of its signature.
 */
export function noticeRoutes(
  app: App,
  deps: PaymentDeps & { limits: Limits; onForged(): void; track(work: Promise<void>): void },
): void {
  const { limits } = deps
  const keys = noticeKeysCache(deps)
  const readAgain = new RateLimiter(READ_AGAIN)
  app.removeAllContentTypeParsers()
  const refusedLines = new RateLimiter(REFUSED_LINES)
  let large = 0
  // The signature covers the raw bytes, so the content type is ignored.
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => {
    const { provider = '', merchant } = request.params as { provider?: string; merchant?: string }
    const most = deps.providers.find(provider)?.capabilities.maxNoticeBytes ?? MAX_NOTICE_BYTES
    const chunks: Buffer[] = []
    let bytes = 0
    // What is left of a refused body is read and dropped after the answer.
    for await (const chunk of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const wasLarge = bytes > MAX_NOTICE_BYTES
      bytes += chunk.length
      const isLarge = bytes > MAX_NOTICE_BYTES
      if (bytes > most || (isLarge && !wasLarge && large === MOST_LARGE)) {
        const refused = { provider, merchant, most }
        if (refusedLines.take('').allowed)
          deps.log.error(
            refused,
            'a notice is too long, or there are too many long ones: ask the provider to send it again',
          )
        if (bytes > most) throw new Problem('body_too_large', `A notice of this provider has at most ${most} bytes.`)
        throw new Problem('unavailable', 'Too many long notices at once. Send it again.')
      }
      if (isLarge && !wasLarge) {
        large++
        request.raw.once('close', () => large--)
      }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  })

  // `token`: what an adapter added to the address of an order, see `OrderNotices`.
  app.post<{ Params: { provider: string; mode: string; merchant: string; token?: string } }>(
    '/notices/:provider/:mode/:merchant/:token?',
    { schema: { hide: true } },
    async (request) => {
      const { provider: named, mode, merchant, token } = request.params
      const capabilities = deps.providers.find(named)?.capabilities
      if (!capabilities) throw noProviderAccount()
      const { name: provider, noticeAnswer: answer = { data: { received: true } } } = capabilities
      const merchantId = parseId('merchant', merchant)
      if (!merchantId || (mode !== 'sandbox' && mode !== 'live')) throw noProviderAccount()
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
      )
      const owner = { merchantId, mode } as const
      const received = await receiveNotice(
        deps,
        owner,
        named,
        { body, headers, token },
        {
          keys,
          beforeLookUp: () => limits.noticeLookUp(request),
          afterLookUp: (found) => found && limits.noticeLookUpFound(request),
          mayReadAgain: () => readAgain.take(`${merchantId} ${mode} ${provider}`).allowed,
        },
      )
      if (received.kind === 'not found') throw noProviderAccount()
      if (received.kind === 'forged') {
        deps.onForged()
        limits.forgedNotice(request, merchantId)
        throw new Problem('invalid_credentials', 'The signature of this notice is not valid.')
      }
      if (received.kind === 'question') return answerQuestion(deps, received.scope, provider, received.question)
      if (received.kind === 'hint') {
        limits.unsignedNotice(request, merchantId)
        await scheduleCheckForHint(deps, received.scope, provider, received.reference)
        return answer
      }
      if (received.isNew) {
        deps.track(
          processNotice(deps, received.notice).catch((err) =>
            deps.log.warn({ err, noticeId: received.notice.id }, 'processing a notice failed; retrying'),
          ),
        )
      }
      return answer
    },
  )
}

function noProviderAccount(): Problem {
  return new Problem('not_found', 'There is no provider account at this URL.')
}
