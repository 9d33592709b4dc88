import { type Id, type IdKind, parseId } from '../../../kernel/ids.ts'

const PREFIX = 'after:'

/** Where the next page begins. Opaque, so that nobody builds one by hand and we may change what is inside. */
export function makeCursor(last: Id<IdKind>): string {
  return Buffer.from(PREFIX + last).toString('base64url')
}

export function readCursor<Kind extends IdKind>(kind: Kind, cursor: string): Id<Kind> | undefined {
  const text = Buffer.from(cursor, 'base64url').toString()
  return text.startsWith(PREFIX) ? parseId(kind, text.slice(PREFIX.length)) : undefined
}
