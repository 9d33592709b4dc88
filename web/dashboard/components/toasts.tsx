import { useEffect, useState } from 'preact/hooks'

const SHOWN_MS = 6_000
let show: (text: string) => void = () => {}

/** Tells the result of an action, to the eyes and to screen readers. */
export function announce(text: string): void {
  show(text)
}

/** The one live region for results. */
export function Toasts() {
  const [toast, setToast] = useState<{ text: string }>()
  show = (text) => setToast({ text })
  useEffect(() => {
    if (!toast) return
    const timer = setTimeout(() => setToast(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [toast])
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toast && <p>{toast.text}</p>}
    </div>
  )
}
