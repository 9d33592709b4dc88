/** Play money or real money. A credential tells which; nothing ever crosses from one to the other. */
export type Mode = 'sandbox' | 'live'

export const MODES: readonly Mode[] = ['sandbox', 'live']
