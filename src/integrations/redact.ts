import type { Connection, ProviderHttp } from '../providers/provider.ts'

/** Some answers quote the request. They are heard without the key that it came with, so whatever an adapter makes of them, that is not in it. */
export function discreetHttp(http: ProviderHttp): ProviderHttp {
  return {
    async request(call) {
      const answer = await http.request(call)
      const credential = call.headers?.authorization?.split(' ').at(-1)
      if (answer.kind !== 'answer' || !credential) return answer
      return { ...answer, text: answer.text.replaceAll(credential, '…') }
    },
  }
}

/** Adapters do not throw. If one does, its words may hold all that it was given: keys, tokens, notices. Only where it happened is passed on. */
export function discreetConnection(connection: Connection): Connection {
  return new Proxy(connection, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        try {
          const answer: unknown = Reflect.apply(member, target, args)
          return answer instanceof Promise ? answer.catch((error) => Promise.reject(wordless(name, error))) : answer
        } catch (error) {
          throw wordless(name, error)
        }
      }
    },
  })
}

function wordless(call: string | symbol, error: unknown): Error {
  const kind = error instanceof Error ? error.constructor.name : typeof error
  const failed = new Error(`${String(call)} ended with a ${kind}`)
  const places = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^ +at /.test(line)) : []
  failed.stack = [`${failed.name}: ${failed.message}`, ...places].join('\n')
  return failed
}
