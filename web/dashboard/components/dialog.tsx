import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

interface Parts {
  title: string
  /** Called by Escape, the close button and the browser's back gesture. */
  onClose: () => void
  children: ComponentChildren
}

/** A modal dialog, open while it is mounted. The browser keeps the focus inside and returns it. */
export function Dialog({ title, onClose, children }: Parts) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const latest = useRef(onClose)
  latest.current = onClose
  // Before the paint: keys that are pressed at once belong to the first field.
  useLayoutEffect(() => {
    const { current } = dialog
    current?.showModal()
    current?.querySelector<HTMLElement>('input, select, textarea, .first')?.focus()
    const closed = () => latest.current()
    current?.addEventListener('close', closed)
    return () => {
      current?.removeEventListener('close', closed) // the dialog that follows must stay open
      current?.close()
    }
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={id}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
          <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
            <path d="m3 3 10 10M13 3 3 13" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" />
          </svg>
        </button>
      </div>
      {children}
    </dialog>
  )
}
