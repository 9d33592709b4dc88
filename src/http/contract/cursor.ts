import { type Id, type IdKind, parseId } from '../../kernel/ids.ts'

const PREFIX = 'after:'

/** Keyset pagination: the cursor holds the id of the last row. It is opaque, so that its content may change. */
export function makeCursor(last: Id<IdKind>): string {
  return Buffer.from(PREFIX + last).toString('base64url')
}

export function readCursor<Kind extends IdKind>(kind: Kind, cursor: string): Id<Kind> | undefined {
  const text = Buffer.from(cursor, 'base64url').toString()
  return text.startsWith(PREFIX) ? parseId(kind, text.slice(PREFIX.length)) : undefined
}
