import type { Outcome, ProviderClient } from './provider.ts'

const DAY_MS = 24 * 3_600_000

/** Checks an order that we have no attempt of, by the provider's name for it. `paidAt`: when money of it was taken. */
export function checkOrder(client: ProviderClient, reference: string, paidAt: Date): Promise<Outcome> {
  const startedAt = new Date(paidAt.getTime() - DAY_MS)
  return client.check({
    ...{ reference, providerReference: reference },
    ...{ channel: 'virtual-bank-account', startedAt },
  })
}
