import type { Channel } from '../kernel/channel.ts'
import type { Attempt, Instructions, StoredInput } from '../payments/state/attempt.ts'

/** How often customers of a country pay by a channel. */
const SHARES: Record<string, [Channel, number][]> = {
  NG: [
    ['card', 0.6],
    ['virtual-bank-account', 0.28],
    ['ussd', 0.08],
    ['bank', 0.04],
  ],
  GH: [
    ['mobile-money', 0.8],
    ['card', 0.2],
  ],
  KE: [
    ['mobile-money', 0.88],
    ['card', 0.12],
  ],
}

/** `luck`: from 0 to 1. */
export function demoChannel(country: string, luck: number): Channel {
  let passed = 0
  const found = (SHARES[country] ?? []).find(([, share]) => {
    passed += share
    return luck < passed
  })
  return found?.[0] ?? 'card'
}

/** What the customer gave. `number` has ten digits. */
export function demoInput(channel: Channel, country: string, number: string): StoredInput {
  switch (channel) {
    case 'mobile-money':
      return country === 'KE'
        ? { phoneNumber: `+25471${number.slice(-7)}`, network: 'mpesa' }
        : { phoneNumber: `+23355${number.slice(-7)}`, network: 'mtn' }
    case 'ussd':
    case 'bank':
      return { bank: '058' }
    case 'card':
    case 'virtual-bank-account':
    case 'qr':
      return {}
  }
}

export function demoInstructions({ channel, amountCharged }: Attempt, number: string): Instructions {
  switch (channel) {
    case 'virtual-bank-account':
      return {
        kind: 'account',
        ...{ accountName: 'Demo Store', bankName: 'Demo Bank', accountNumber: number },
        amountToTransfer: amountCharged,
      }
    case 'mobile-money':
      return { kind: 'prompt' }
    case 'ussd':
      return { kind: 'dial', code: `*737*000*${number.slice(-4)}#`, bankName: 'GTBank' }
    case 'qr':
      return { kind: 'qr', text: number }
    case 'card':
    case 'bank':
      return { kind: 'link', link: 'https://provider.example/pay', publicKey: '' }
  }
}
