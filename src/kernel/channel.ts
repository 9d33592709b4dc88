export const CHANNELS = ['card', 'virtual-bank-account', 'mobile-money', 'ussd', 'bank', 'qr'] as const
/** How the customer pays. Each `switch` over channels is exhaustive, so the compiler names what a new one changes. */
export type Channel = (typeof CHANNELS)[number]

interface ChannelFacts {
  /** For people, in English. The payment page has its own texts. */
  title: string
  /** Follows the provider's name in `provider`: `{provider}-mobile-money`. */
  suffix: string
  /** Money comes in one piece, or in parts that add up. */
  money: 'whole' | 'in parts'
  /**
   * A phone may ask the customer although the provider's answer to the start was lost. Then no answer does not mean
   * that nothing can be paid, and a second start would ask a second time.
   */
  asksByItself: boolean
  /** Customers can save what they pay with. */
  savesCards: boolean
}

export const CHANNEL_FACTS: Record<Channel, ChannelFacts> = {
  card: { title: 'Card', suffix: '', money: 'whole', asksByItself: false, savesCards: true },
  'virtual-bank-account': {
    title: 'Bank transfer',
    suffix: '-virtual-bank-account',
    money: 'in parts',
    asksByItself: false,
    savesCards: false,
  },
  'mobile-money': {
    title: 'Mobile money',
    suffix: '-mobile-money',
    money: 'whole',
    asksByItself: true,
    savesCards: false,
  },
  ussd: { title: 'USSD', suffix: '-ussd', money: 'whole', asksByItself: false, savesCards: false },
  bank: { title: 'Pay with bank', suffix: '-bank', money: 'whole', asksByItself: false, savesCards: false },
  qr: { title: 'QR code', suffix: '-qr', money: 'whole', asksByItself: false, savesCards: false },
}

/** `{provider}` by card, `{provider}-mobile-money`: as merchants write it. */
export function providerName(provider: string, channel: Channel): string {
  return provider + CHANNEL_FACTS[channel].suffix
}

/** The provider and the channel of what a merchant wrote. */
export function splitProvider(text: string): { name: string; channel: Channel } {
  const channel = CHANNELS.find((each) => each !== 'card' && text.endsWith(CHANNEL_FACTS[each].suffix)) ?? 'card'
  return { name: text.slice(0, text.length - CHANNEL_FACTS[channel].suffix.length), channel }
}
