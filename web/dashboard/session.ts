import { MutationCache, QueryCache, QueryClient, useQuery } from '@tanstack/preact-query'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { MerchantAccess, Mode, Permission, Session } from './answers.ts'
import { ApiError, get } from './api.ts'

export const SESSION = ['session']

function afterError(error: Error): void {
  if (isSignedOut(error)) void client.invalidateQueries({ queryKey: SESSION })
}

const RETRIES = 2

/** The cache of answers. A refusal is not repeated; a request without an answer is, twice. */
export const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, { queryKey }) => queryKey[0] !== SESSION[0] && afterError(error),
  }),
  mutationCache: new MutationCache({ onError: afterError }),
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: 5_000,
      retryDelay: (failures) => 500 * 2 ** failures,
      retry: (failures, error) => failures < RETRIES && !(error instanceof ApiError && error.status in REFUSALS),
    },
    mutations: { networkMode: 'always' },
  },
})

const REFUSALS = { 400: 1, 401: 1, 403: 1, 404: 1, 409: 1, 422: 1, 429: 1 }

export function isSignedOut(error: Error | null): boolean {
  return error instanceof ApiError && error.code === 'not_signed_in'
}

/** The session; without data when it has ended, even if it was known before. */
export function useSession() {
  const query = useQuery({
    queryKey: SESSION,
    queryFn: ({ signal }) => get<Session>('/session', signal),
    staleTime: 60_000,
  })
  return { ...query, data: isSignedOut(query.error) ? undefined : query.data }
}

/** Reads the session again, after a sign-in or a change of the account. */
export function refreshSession(): Promise<Session> {
  return client.fetchQuery({ queryKey: SESSION, queryFn: () => get<Session>('/session'), staleTime: 0 })
}

/** The merchant and mode of the address, and what the member may do there. */
export interface CurrentMerchant extends MerchantAccess {
  mode: Mode
  may(permission: Permission): boolean
  /** The address of a screen, for links: `path('/members')`. */
  path(screen: string): string
  /** The path of an endpoint that differs by mode: `api('/api-keys')`. */
  api(endpoint: string): string
  /** The path of an endpoint of both modes: `apiOfBothModes('/members')`. */
  apiOfBothModes(endpoint: string): string
}

export function currentMerchant(access: MerchantAccess, mode: Mode): CurrentMerchant {
  return {
    ...access,
    mode,
    may: (permission) => access.permissions.includes(permission),
    path: (screen) => `/${access.id}/${mode}${screen}`,
    api: (endpoint) => `/merchants/${access.id}/${mode}${endpoint}`,
    apiOfBothModes: (endpoint) => `/merchants/${access.id}${endpoint}`,
  }
}

export const MerchantContext = createContext<CurrentMerchant | undefined>(undefined)

export function useMerchant(): CurrentMerchant {
  const merchant = useContext(MerchantContext)
  if (!merchant) throw new Error('outside of a merchant')
  return merchant
}

const LAST = 'manilla.merchant'

/** The merchant and mode that this browser showed last. */
export function rememberMerchant({ id, mode }: CurrentMerchant): void {
  localStorage.setItem(LAST, `${id}/${mode}`)
}

export function lastMerchant({ merchants }: Session): CurrentMerchant | undefined {
  const [id, mode] = (localStorage.getItem(LAST) ?? '').split('/')
  const access = merchants.find((each) => each.id === id) ?? merchants[0]
  return access && currentMerchant(access, access.modes.find((each) => each === mode) ?? 'sandbox')
}
