import { type PaymentId, parseId } from '../../kernel/ids.ts'

const PREFIX = 'after:'

/** Where the next page begins. Opaque, so that nobody builds one by hand and we may change what is inside. */
export function makeCursor(last: PaymentId): string {
  return Buffer.from(PREFIX + last).toString('base64url')
}

export function readCursor(cursor: string): PaymentId | undefined {
  const text = Buffer.from(cursor, 'base64url').toString()
  return text.startsWith(PREFIX) ? parseId('payment', text.slice(PREFIX.length)) : undefined
}
