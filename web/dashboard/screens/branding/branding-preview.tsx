import { useEffect, useRef, useState } from 'preact/hooks'
import type { Branding } from '../../answers.ts'
import { API } from '../../api.ts'
import { SelectField } from '../../components/form.tsx'
import type { Draft } from '../branding.tsx'
import { useSettled } from './use-settled.ts'

const THEMES = [
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const
const STATES = [
  ['open', 'Before the payment'],
  ['paid', 'After the payment'],
] as const

interface Parts {
  path: string
  draft: Draft
  saved: Branding
}

/** The real payment page with the draft. It runs no script and takes no clicks. */
export function BrandingPreview({ path, draft, saved }: Parts) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [theme, setTheme] = useState<(typeof THEMES)[number][0]>('light')
  const [state, setState] = useState<(typeof STATES)[number][0]>('open')
  const isColour = draft.colour === '' || /^#[0-9a-f]{6}$/.test(draft.colour)
  const wanted = new URLSearchParams({
    ...{ corners: draft.corners, language: draft.language ?? '', theme, state },
    ...(draft.name.trim() && { name: draft.name }),
    ...(isColour && { colour: draft.colour }),
    ...(draft.logo === null && { logo: 'none' }),
  })
  const address = useSettled(`${API}${path}/preview?${wanted}`)
  const { logo } = draft

  // `replace`: a new `src` would add a step to the browser's history for each change.
  useEffect(() => frame.current?.contentWindow?.location.replace(address), [address, saved])

  /** A new logo is too long for an address, so it is put into the page here: an image runs no script. */
  function finish() {
    const page = frame.current?.contentDocument
    if (!frame.current || !page) return
    if (typeof logo === 'string') showLogo(page, logo)
    frame.current.height = String(page.documentElement.scrollHeight)
  }
  useEffect(finish, [logo])

  return (
    <section class="preview" aria-label="Preview">
      <div class="filters">
        <SelectField label="Shown" value={state} options={STATES} onChange={setState} />
        <SelectField label="Theme" value={theme} options={THEMES} onChange={setTheme} />
      </div>
      <iframe ref={frame} title="Preview of the payment page" sandbox="allow-same-origin" inert onLoad={finish} />
    </section>
  )
}

function showLogo(page: Document, source: string): void {
  const image = page.createElement('img')
  image.className = 'logo'
  image.alt = ''
  image.width = 44
  image.height = 44
  image.src = source
  page.querySelector('.logo')?.replaceWith(image)
}
