const MAX_URL_LENGTH = 2_048

/** Stricter than `new URL`, which trims blanks, drops line breaks and turns backslashes around: what we keep is what was meant. */
export function isWebAddress(text: string): boolean {
  return (
    text.length <= MAX_URL_LENGTH &&
    /^https?:\/\/[^/\\?#@][^/\\?#@]*([/?#]|$)/i.test(text) &&
    !/[\s\\\p{Cc}]/u.test(text) &&
    URL.canParse(text) &&
    // A character may become nine when it is sent (%E2%82%AC); only a long address can grow too long by that.
    (text.length * 9 <= MAX_URL_LENGTH || new URL(text).href.length <= MAX_URL_LENGTH)
  )
}
