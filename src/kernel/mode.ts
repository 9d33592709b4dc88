/** Test money or real money. The credential decides; data of the two modes never mixes. */
export type Mode = 'sandbox' | 'live'

export const MODES: readonly Mode[] = ['sandbox', 'live']
