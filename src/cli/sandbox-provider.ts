import { setTimeout as sleep } from 'node:timers/promises'
import { CHANNEL_FACTS, type Channel } from '../kernel/channel.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { PROVIDERS } from '../providers/registry.ts'
import type { Api } from './api.ts'

const POLL_EVERY_MS = 200

/** The integration of the simulated provider, for cards and transfers. */
export async function sandboxProvider(api: Api): Promise<{ provider: string; country: string; currency: string }> {
  const integrations: { provider: string; channels: Channel[]; countries: string[]; currencies: string[] }[] =
    await api('GET', '/payments/v1/integrations')
  const simulated = PROVIDERS.filter(({ capabilities }) => capabilities.sandboxOnly).map(
    ({ capabilities }) => capabilities.name,
  )
  const takesTransfers = (channels: Channel[]) => channels.some((each) => CHANNEL_FACTS[each].money === 'in parts')
  const found = integrations.find(({ provider, channels }) => simulated.includes(provider) && takesTransfers(channels))
  const [country] = found?.countries ?? []
  const [currency] = found?.currencies ?? []
  if (!found || !country || !currency)
    throw new OperatorError('The sandbox merchant has no sandbox provider for cards and transfers.')
  return { provider: found.provider, country, currency }
}

/** Polls until the value is as expected or the timeout ends. Returns the last value. */
export async function poll<Value>(
  ask: () => Promise<Value>,
  isSo: (value: Value) => boolean,
  withinMs: number,
): Promise<Value> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const value = await ask()
    if (isSo(value) || performance.now() > deadline) return value
    await sleep(POLL_EVERY_MS)
  }
}
