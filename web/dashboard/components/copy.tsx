import { announce } from './toasts.tsx'

/** A text to copy, such as a key or a link. */
export function Copyable({ text, label }: { text: string; label: string }) {
  async function copy() {
    await navigator.clipboard.writeText(text).then(
      () => announce(`${label} copied`),
      () => announce('Copying was refused. Select the text and copy it.'),
    )
  }
  return (
    <div class="copyable">
      <code>{text}</code>
      <button type="button" onClick={copy} aria-label={`Copy ${label}`}>
        Copy
      </button>
    </div>
  )
}
