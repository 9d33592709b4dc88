import { addressNameOf } from '../providers/capabilities.ts'
import type { Facts, OrderHandle } from '../providers/provider.ts'
import type { PaymentDeps } from './deps.ts'
import { type Attempt, handleOf } from './state/attempt.ts'
import { noticeFacts } from './store/notices.ts'

/** An attempt as its provider knows it, with what notices said of it. `said`: by one that is not processed yet. */
export async function orderHandle(
  { database, providers, links }: Pick<PaymentDeps, 'database' | 'providers' | 'links'>,
  attempt: Attempt,
  said?: Facts,
): Promise<OrderHandle> {
  const handle = handleOf(attempt)
  const capabilities = providers.find(attempt.provider)?.capabilities
  if (!capabilities?.noticesHaveFacts) return handle
  const facts = [...(await noticeFacts(database, attempt)), ...(said ? [said] : [])]
  return { ...handle, notices: { url: links.notices(attempt, addressNameOf(capabilities)), facts } }
}
