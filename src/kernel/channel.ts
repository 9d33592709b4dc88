export const CHANNELS = ['card', 'virtual-bank-account'] as const
/** How the customer pays. */
export type Channel = (typeof CHANNELS)[number]
