export const CHANNELS = ['card', 'virtual-bank-account', 'mobile-money', 'ussd', 'bank', 'qr'] as const
/** How the customer pays. Each `switch` over channels is exhaustive, so the compiler names what a new one changes. */
export type Channel = (typeof CHANNELS)[number]

interface ChannelFacts {
  /** For people, in English. The payment page has its own texts. */
  title: string
  /** Follows the provider's name in `provider`: `paystack-mobile-money`. */
  suffix: string
  /** Money comes in one piece, or in parts that add up. */
  money: 'whole' | 'in parts'
}

export const CHANNEL_FACTS: Record<Channel, ChannelFacts> = {
  card: { title: 'Card', suffix: '', money: 'whole' },
  'virtual-bank-account': { title: 'Bank transfer', suffix: '-virtual-bank-account', money: 'in parts' },
  'mobile-money': { title: 'Mobile money', suffix: '-mobile-money', money: 'whole' },
  ussd: { title: 'USSD', suffix: '-ussd', money: 'whole' },
  bank: { title: 'Pay with bank', suffix: '-bank', money: 'whole' },
  qr: { title: 'QR code', suffix: '-qr', money: 'whole' },
}

/** `paystack` by card, `paystack-mobile-money`: as merchants write it. */
export function providerName(provider: string, channel: Channel): string {
  return provider + CHANNEL_FACTS[channel].suffix
}

/** The provider and the channel of what a merchant wrote. */
export function splitProvider(text: string): { name: string; channel: Channel } {
  const channel = CHANNELS.find((each) => each !== 'card' && text.endsWith(CHANNEL_FACTS[each].suffix)) ?? 'card'
  return { name: text.slice(0, text.length - CHANNEL_FACTS[channel].suffix.length), channel }
}
