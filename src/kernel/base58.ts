// The alphabet is in ASCII order, so encodings of equal length sort as their numbers do: an index on them grows at its end.
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const DIGITS = new Map([...ALPHABET].map((character, value) => [character, BigInt(value)]))

// Five digits fit a small integer. Peeling five at a time keeps the slow BigInt divisions to a handful per id.
const FIVE_DIGITS = 58n ** 5n

export function encodeBase58(value: bigint, length: number): string {
  let rest = value
  let encoded = ''
  while (encoded.length < length) {
    let five = Number(rest % FIVE_DIGITS)
    rest /= FIVE_DIGITS
    for (let digit = 0; digit < 5 && encoded.length < length; digit++) {
      encoded = ALPHABET.charAt(five % 58) + encoded
      five = Math.floor(five / 58)
    }
  }
  return encoded
}

/** The number, or undefined when a character is not of the alphabet. */
export function decodeBase58(encoded: string): bigint | undefined {
  let value = 0n
  for (const character of encoded) {
    const digit = DIGITS.get(character)
    if (digit === undefined) return undefined
    value = value * 58n + digit
  }
  return value
}
