import { useEffect } from 'preact/hooks'
import { type CurrentMerchant, client } from './session.ts'

/** Many changes within this time are one reload. */
const TOGETHER_MS = 500
/** The endpoints whose answers a change of a payment can change. */
const CHANGED = ['/payments', '/refunds', '/disputes', '/deliveries', '/customers', '/overview', '/settlements']

/**
 * Reads again what the screen shows when a payment changes: one event stream per tab. The browser reconnects by itself.
 */
export function useLiveUpdates(merchant: CurrentMerchant | undefined): void {
  const base = merchant?.api('')
  useEffect(() => {
    if (!base) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const refresh = () => {
      timer = undefined
      const isChanged = (key: unknown) => CHANGED.some((path) => String(key).startsWith(base + path))
      void client.invalidateQueries({ predicate: ({ queryKey }) => isChanged(queryKey[0]) })
    }
    const soon = () => {
      timer ??= setTimeout(refresh, TOGETHER_MS)
    }
    const stream = new EventSource(`/dashboard/api${base}/changes`)
    stream.addEventListener('open', soon) // what changed since the screen was read
    stream.addEventListener('message', soon)
    stream.addEventListener('reset', soon)
    return () => {
      clearTimeout(timer)
      stream.close()
    }
  }, [base])
}
