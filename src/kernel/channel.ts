/** How the customer pays. */
export type Channel = 'card' | 'virtual-bank-account'
