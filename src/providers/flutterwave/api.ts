import type { Account, ProviderAnswer, Unknown } from '../provider.ts'
import { unknown } from './mapping.ts'

/** Their HTTP, with our key. */
export interface Api {
  get(path: string, query?: Record<string, string>): Promise<ProviderAnswer>
  post(path: string, body: object): Promise<ProviderAnswer>
}

export function api({ baseURL, http }: Account, secretKey: string): Api {
  const headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' }
  return {
    get(path, query) {
      const search = query ? `?${new URLSearchParams(query)}` : ''
      return http.request({ method: 'GET', url: `${baseURL}/v3${path}${search}`, headers })
    },
    post: (path, body) =>
      http.request({ method: 'POST', url: `${baseURL}/v3${path}`, headers, body: JSON.stringify(body) }),
  }
}

export const unreadable = (status: number): Unknown => unknown(`it answered ${status} with what we cannot read`)
