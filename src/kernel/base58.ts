// The alphabet is in ASCII order, so that encodings of equal length sort like their numbers and an index grows at its
// end.
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const DIGITS = Int8Array.from({ length: 128 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)))
const POWERS = [1n, 58n, 58n ** 2n, 58n ** 3n, 58n ** 4n, 58n ** 5n] as const

// Five digits fit a small integer. Five at a time need few of the slow BigInt divisions.
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

/** Undefined when a character is not in the alphabet. */
export function decodeBase58(encoded: string): bigint | undefined {
  let value = 0n
  for (let start = 0; start < encoded.length; start += 5) {
    const end = Math.min(start + 5, encoded.length)
    let five = 0
    for (let index = start; index < end; index++) {
      const digit = DIGITS[encoded.charCodeAt(index)] ?? -1
      if (digit < 0) return undefined
      five = five * 58 + digit
    }
    value = value * (POWERS[end - start] ?? 0n) + BigInt(five)
  }
  return value
}
