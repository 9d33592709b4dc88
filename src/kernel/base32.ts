const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz' // Crockford's, in ASCII order

export function encodeBase32(value: number, length: number): string {
  let rest = value
  let encoded = ''
  while (encoded.length < length) {
    encoded = ALPHABET.charAt(rest % 32) + encoded
    rest = Math.floor(rest / 32)
  }
  return encoded
}

/** Undefined when a character is not in the alphabet. */
export function decodeBase32(encoded: string): number | undefined {
  let value = 0
  for (const character of encoded) {
    const digit = ALPHABET.indexOf(character)
    if (digit < 0) return undefined
    value = value * 32 + digit
  }
  return value
}
