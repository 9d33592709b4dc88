import { Problem } from '../../kernel/problem.ts'
import type { App } from './framework.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** The methods of each URL of the routes that are added after this call. */
export function collectMethods(app: App): Map<string, Set<string>> {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const known = methods.get(url) ?? new Set()
    for (const each of [method].flat()) known.add(each)
    methods.set(url, known)
  })
  return methods
}

/** Answers 405 with an Allow header for a known URL with another method, rather than 404. */
export function refuseOtherMethods(app: App, routes: Map<string, Set<string>>): void {
  for (const [url, known] of [...routes]) {
    if (url.includes('*')) continue
    const allow = [...known].join(', ')
    const others = METHODS.filter((method) => !known.has(method))
    if (others.length === 0) continue
    app.route({
      method: [...others],
      url,
      schema: { hide: true },
      // In onRequest: the body is not read.
      onRequest: async (request, reply) => {
        reply.header('allow', allow)
        throw new Problem('method_not_allowed', `${url} does not take ${request.method}, only ${allow}.`)
      },
      handler: () => {},
    })
  }
}
