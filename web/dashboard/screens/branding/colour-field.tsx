import { useId } from 'preact/hooks'
import type { Contrast } from '../../answers.ts'
import { query } from '../../api.ts'
import { useData } from '../../components/data.ts'
import { Status } from '../../components/status.tsx'
import { useSettled } from './use-settled.ts'

const DEFAULT_COLOUR = '#0b6e4f'

interface Parts {
  /** Of the branding endpoints. */
  path: string
  /** Empty: the default colour. */
  value: string
  error: string | undefined
  onChange: (colour: string) => void
}

/** A colour by palette or by text, and how readable the page is with it. */
export function ColourField({ path, value, error, onChange }: Parts) {
  const id = useId()
  const isColour = /^#[0-9a-f]{6}$/.test(value)
  const mistake = error ?? (value === '' || isColour ? undefined : 'Enter six digits of 0–9 and a–f, like #0b6e4f')
  return (
    <div class="field">
      <label for={id}>Colour</label>
      <div class="colour">
        <input
          type="color"
          aria-label="Choose a colour"
          value={isColour ? value : DEFAULT_COLOUR}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
        <input
          id={id}
          spellcheck={false}
          autocomplete="off"
          maxLength={7}
          placeholder={`${DEFAULT_COLOUR} (default)`}
          aria-invalid={mistake ? 'true' : undefined}
          aria-describedby={mistake ? `${id}-error ${id}-contrast` : `${id}-contrast`}
          value={value}
          onInput={(event) => onChange(event.currentTarget.value.trim().toLowerCase())}
        />
      </div>
      {mistake && (
        <p id={`${id}-error`} class="field-error">
          {mistake}
        </p>
      )}
      <div id={`${id}-contrast`}>
        <ContrastWords path={path} colour={mistake ? undefined : value} />
      </div>
    </div>
  )
}

/** WCAG asks for 4.5 to 1 between text and its ground, and 3 to 1 around a button. */
function ContrastWords({ path, colour }: { path: string; colour: string | undefined }) {
  const settled = useSettled(colour)
  const { data } = useData<Contrast>(`${path}/contrast${query({ colour: settled })}`)
  if (!data || colour === undefined) return null
  const { button, card, link, dark } = data
  const text = button.text === '#ffffff' ? 'White' : 'Black'
  return (
    <dl class="contrast">
      <dt>
        <Status tone="good">Button text</Status>
      </dt>
      <dd>
        {text} on your colour: {ratio(button.ratio)}.
      </dd>
      <dt>
        <Status tone={card.hasBorder ? 'attention' : 'good'}>Button</Status>
      </dt>
      <dd>
        On the white card: {ratio(card.ratio)}
        {card.hasBorder ? '. That is less than 3 to 1, so the button gets a darker border.' : '.'}
      </dd>
      <dt>
        <Status tone="good">Links</Status>
      </dt>
      <dd>
        {link.colour === button.colour ? 'In your colour' : `Darkened to ${link.colour}`}: {ratio(link.ratio)}.
      </dd>
      <dt>
        <Status tone="good">Dark mode</Status>
      </dt>
      <dd>
        {dark.colour === button.colour ? 'In your colour' : `Lightened to ${dark.colour}`}: {ratio(dark.ratio)}.
      </dd>
    </dl>
  )
}

function ratio(value: number): string {
  return `${value} to 1`
}
