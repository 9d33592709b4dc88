import { announce } from './toasts.tsx'

/** A text to copy, such as a key or a link. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <div class="copyable">
      <code>{text}</code>
      <CopyButton text={text} label={label} name="Copy" />
    </div>
  )
}

/** `name`: what the button says. `label`: what it copies, for screen readers. */
export function CopyButton({ text, label, name }: { text: string; label: string; name: string }) {
  async function copy() {
    await navigator.clipboard.writeText(text).then(
      () => announce(`${label} copied`),
      () => announce('Copying was refused. Select the text and copy it.'),
    )
  }
  return (
    <button type="button" onClick={copy} aria-label={`Copy ${label}`}>
      {name}
    </button>
  )
}
