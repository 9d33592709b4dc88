import type { ProviderClient, ProviderHttp } from '../providers/provider.ts'

/**
 * Removes the request's credential from responses that echo it, so that it cannot reach a log, an error or the
 * database.
 */
export function redactCredentials(http: ProviderHttp): ProviderHttp {
  return {
    async request(call) {
      const answer = await http.request(call)
      const credential = call.headers?.authorization?.split(' ').at(-1)
      if (answer.kind !== 'answer' || !credential) return answer
      return { ...answer, text: answer.text.replaceAll(credential, '…') }
    },
  }
}

/**
 * Replaces the message of an error that an adapter throws: it may contain keys, tokens or notices. The stack frames
 * stay.
 */
export function redactErrors(client: ProviderClient): ProviderClient {
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        try {
          const answer: unknown = Reflect.apply(member, target, args)
          return answer instanceof Promise
            ? answer.catch((error) => Promise.reject(redactedError(name, error)))
            : answer
        } catch (error) {
          throw redactedError(name, error)
        }
      }
    },
  })
}

function redactedError(call: string | symbol, error: unknown): Error {
  const kind = error instanceof Error ? error.constructor.name : typeof error
  const failed = new Error(`${String(call)} ended with a ${kind}`)
  const places = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^ +at /.test(line)) : []
  failed.stack = [`${failed.name}: ${failed.message}`, ...places].join('\n')
  return failed
}
