const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufefc]/

/** Isolates a name of the other text direction, so that it does not reorder the amount or the full stop beside it. */
export function inSentence(name: string, direction: 'ltr' | 'rtl'): string {
  return RIGHT_TO_LEFT.test(name) === (direction === 'rtl') ? name : `\u2068${name}\u2069`
}
