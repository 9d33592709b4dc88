const MAX_URL_LENGTH = 2_048

/**
 * Stricter than `new URL`, which trims spaces, drops line breaks and converts backslashes, so that the stored URL is
 * the given one.
 */
export function isWebAddress(text: string): boolean {
  return (
    text.length <= MAX_URL_LENGTH &&
    /^https?:\/\/[^/\\?#@][^/\\?#@]*([/?#]|$)/i.test(text) &&
    !/[\s\\\p{Cc}]/u.test(text) &&
    URL.canParse(text) &&
    // Percent-encoding turns a character into up to nine (%E2%82%AC), so only long URLs need this check.
    (text.length * 9 <= MAX_URL_LENGTH || new URL(text).href.length <= MAX_URL_LENGTH)
  )
}
