/** Text that can be stored and shown: no invalid UTF-8, no terminal control characters, no bidirectional overrides. */
export function excerptOf(bytes: Buffer, keepBytes: number): string {
  const isCut = bytes.length > keepBytes
  const text = bytes.toString('utf8', 0, keepBytes).replace(CONTROL, '\ufffd')
  const whole = isCut ? text.replace(/\ufffd$/, '') : text
  if (Buffer.byteLength(whole) <= keepBytes) return whole
  // The replacement character can be longer than the byte that it replaces.
  return whole.slice(0, encoder.encodeInto(whole, new Uint8Array(keepBytes)).read)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what we look for
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const encoder = new TextEncoder()
