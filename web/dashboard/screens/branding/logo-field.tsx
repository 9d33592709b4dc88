import { useId, useState } from 'preact/hooks'

const MAX_BYTES = 10 * 1024
const TYPES = ['image/png', 'image/jpeg', 'image/webp']

interface Parts {
  savedURL: string | null
  /** A new logo as a data URL; null: none; undefined: the saved one. */
  logo: string | null | undefined
  error: string | undefined
  onChange: (logo: string | null) => void
}

export function LogoField({ savedURL, logo, error, onChange }: Parts) {
  const id = useId()
  const [refusal, setRefusal] = useState<string>()
  const shown = logo === undefined ? savedURL : logo
  const mistake = refusal ?? error

  async function take(file: File | undefined) {
    if (!file) return
    const isFitting = TYPES.includes(file.type) && file.size <= MAX_BYTES
    setRefusal(isFitting ? undefined : `${file.name} does not fit: ${reasonOf(file)}`)
    if (isFitting) onChange(await dataUrlOf(file))
  }

  return (
    <div class="field">
      <label for={id}>Logo</label>
      <div class="logo-row">
        {shown ? <img src={shown} alt="The logo" width="44" height="44" /> : <span class="soft">Initials</span>}
        <input
          id={id}
          type="file"
          accept={TYPES.join()}
          aria-describedby={mistake ? `${id}-hint ${id}-error` : `${id}-hint`}
          aria-invalid={mistake ? 'true' : undefined}
          onChange={(event) => void take(event.currentTarget.files?.[0])}
        />
        {shown && (
          <button
            type="button"
            onClick={() => {
              setRefusal(undefined)
              onChange(null)
            }}
          >
            Remove logo
          </button>
        )}
      </div>
      <p id={`${id}-hint`} class="hint">
        PNG, JPEG or WebP of at most 10 KB. It is shown 44 pixels wide.
      </p>
      {mistake && (
        <p id={`${id}-error`} class="field-error">
          {mistake}
        </p>
      )}
    </div>
  )
}

function reasonOf({ type, size }: File): string {
  return TYPES.includes(type) ? `it has ${Math.ceil(size / 1024)} KB.` : 'it is not a PNG, JPEG or WebP image.'
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}
