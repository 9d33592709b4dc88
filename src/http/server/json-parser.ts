import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../kernel/problem.ts'
import type { App } from './framework.ts'
import { parseJsonBody } from './json-body.ts'

/** JSON is the only content type, unless a route adds another. */
export function takeJsonOnly(app: App): void {
  app.removeAllContentTypeParsers()
  // Callbacks, not promises: each promise costs every request a turn of the microtask queue.
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    // Many clients send a content type without a body.
    const { schema, config } = request.routeOptions
    if (body.length === 0 && (!schema?.body || config.hasOptionalBody)) return done(null, undefined)
    if (!isPlainUtf8(request.headers)) {
      return done(
        new Problem('unsupported_media_type', 'Send the body as plain UTF-8: no Content-Encoding, no other charset.'),
      )
    }
    try {
      done(null, parseJsonBody(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
}

function isPlainUtf8(headers: IncomingHttpHeaders): boolean {
  const charset = /charset="?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1]
  const encoding = headers['content-encoding']
  return (!charset || /^utf-?8$/i.test(charset)) && (!encoding || encoding === 'identity')
}
