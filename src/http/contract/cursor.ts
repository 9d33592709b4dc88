import { type Id, type IdKind, parseId } from '../../kernel/ids.ts'

const PREFIX = 'after:'

/** Of a list of several accounts by time. */
interface Position {
  provider: string
  takenAt: Date
  receiptId: number
}

/** Keyset pagination: the cursor holds the id of the last row. It is opaque, so that its content may change. */
export function makeCursor(last: Id<IdKind>): string {
  return Buffer.from(PREFIX + last).toString('base64url')
}

export function readCursor<Kind extends IdKind>(kind: Kind, cursor: string): Id<Kind> | undefined {
  const text = Buffer.from(cursor, 'base64url').toString()
  return text.startsWith(PREFIX) ? parseId(kind, text.slice(PREFIX.length)) : undefined
}

export function makePosition({ provider, takenAt, receiptId }: Position): string {
  return Buffer.from(`${provider} ${takenAt.getTime()} ${receiptId}`).toString('base64url')
}

export function readPosition(cursor: string): Position | undefined {
  const match = /^([a-z0-9-]{1,50}) (\d{1,15}) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) return undefined
  return { provider: match[1] ?? '', takenAt: new Date(Number(match[2])), receiptId: Number(match[3]) }
}
