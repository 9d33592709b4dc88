import type { OneTimeLink } from '../answers.ts'
import { Copyable } from './copy.tsx'
import { Time } from './values.tsx'

/** A one-time link, shown once to the member who made it. */
export function LinkToCopy({ link, to, onClose }: { link: OneTimeLink; to: string; onClose: () => void }) {
  return (
    <>
      <p>
        {link.sent ? `We sent this link to ${to}, too.` : `Copy this link and give it to ${to}.`} It works once, until{' '}
        <Time at={link.expiresAt} />, and is not shown again.
      </p>
      <Copyable label="link" text={link.url} />
      <div class="form-actions">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </div>
    </>
  )
}
