import { useState } from 'preact/hooks'
import type { Branding } from '../answers.ts'
import { send } from '../api.ts'
import { useAction, useData } from '../components/data.ts'
import { Field, Form, fieldErrors, SelectField } from '../components/form.tsx'
import { ProblemPanel } from '../components/problem.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { refreshSession, useMerchant } from '../session.ts'
import { BrandingPreview } from './branding/branding-preview.tsx'
import { ColourField } from './branding/colour-field.tsx'
import { LogoField } from './branding/logo-field.tsx'

export default function BrandingScreen() {
  const merchant = useMerchant()
  const path = merchant.apiOfBothModes('/branding')
  const { data, error, refetch } = useData<Branding>(path)
  return (
    <Screen title="Branding" about="How your payment page looks, in both modes. A change shows within 2 seconds.">
      {data ? (
        <Editor saved={data} path={path} />
      ) : error ? (
        <ProblemPanel error={error} retry={refetch} />
      ) : (
        <p class="late">Loading …</p>
      )}
    </Screen>
  )
}

/** What a member has typed and not saved. */
export interface Draft {
  name: string
  /** Empty: the default colour. */
  colour: string
  corners: Branding['corners']
  /** Empty: the customer's own. */
  language: Branding['language'] | ''
  /** A new logo as a data URL; null: none; undefined: the saved one. */
  logo: string | null | undefined
  /** Empty: the customer clicks. */
  returnAfterSeconds: string
  /** One in each line. */
  origins: string
  widget: Branding['widget']
}

function draftOf(saved: Branding): Draft {
  const { name, corners, widget } = saved
  return {
    ...{ name, corners, widget, logo: undefined },
    colour: saved.colour ?? '',
    language: saved.language ?? '',
    returnAfterSeconds: saved.returnAfterSeconds === null ? '' : String(saved.returnAfterSeconds),
    origins: saved.origins.join('\n'),
  }
}

/** The changes as the server takes them. */
function changesOf({ colour, language, logo, returnAfterSeconds, origins, ...plain }: Draft) {
  const base64 = typeof logo === 'string' ? logo.slice(logo.indexOf(',') + 1) : logo
  return {
    ...plain,
    colour: colour || null,
    language: language || null,
    returnAfterSeconds: returnAfterSeconds === '' ? null : Number(returnAfterSeconds),
    origins: origins.split(/\s+/).filter(Boolean),
    ...(base64 !== undefined && { logo: base64 }),
  }
}

const CORNERS = [
  ['square', 'Square'],
  ['rounded', 'Rounded'],
  ['pill', 'Round'],
] as const
const LANGUAGES = [
  ['', "The customer's own"],
  ['en', 'English'],
  ['fr', 'French'],
  ['ar', 'Arabic'],
  ['sw', 'Swahili'],
] as const
const WIDGETS = [
  ['open', 'A reference opens it'],
  ['strict', 'It also needs a token from your server'],
] as const

function Editor({ saved, path }: { saved: Branding; path: string }) {
  const [draft, setDraft] = useState(() => draftOf(saved))
  const set = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }))
  const action = useAction({
    run: () => send<Branding>('PATCH', path, changesOf(draft)),
    refresh: [path],
    done: 'Branding saved',
    onDone: (after) => {
      setDraft(draftOf(after))
      void refreshSession()
    },
  })
  const errors = fieldErrors(action.error)
  return (
    <div class="beside">
      <Form submit="Save" action={action}>
        <Field
          label="Name"
          hint="40 characters fit on the page."
          maxLength={200}
          required
          value={draft.name}
          error={errors.name}
          onText={(text) => set({ name: text })}
        />
        <LogoField savedURL={saved.logoURL} logo={draft.logo} error={errors.logo} onChange={(logo) => set({ logo })} />
        <ColourField path={path} value={draft.colour} error={errors.colour} onChange={(colour) => set({ colour })} />
        <SelectField label="Corners" value={draft.corners} options={CORNERS} onChange={(corners) => set({ corners })} />
        <SelectField
          label="Language"
          value={draft.language ?? ''}
          options={LANGUAGES}
          onChange={(language) => set({ language })}
        />
        <Field
          label="Return to your shop after"
          hint="Seconds after a payment, 0 to 60. Leave it empty: only when the customer clicks."
          type="number"
          min={0}
          max={60}
          step={1}
          value={draft.returnAfterSeconds}
          error={errors.returnAfterSeconds}
          onText={(text) => set({ returnAfterSeconds: text })}
        />
        <Section title="The page inside your site">
          <Origins value={draft.origins} error={errors.origins} onChange={(origins) => set({ origins })} />
          <SelectField
            label="The widget"
            value={draft.widget}
            options={WIDGETS}
            onChange={(widget) => set({ widget })}
          />
        </Section>
      </Form>
      <BrandingPreview path={path} draft={draft} saved={saved} />
    </div>
  )
}

interface OriginsParts {
  value: string
  error: string | undefined
  onChange: (text: string) => void
}

function Origins({ value, error, onChange }: OriginsParts) {
  return (
    <div class="field">
      <label for="origins">Sites that may show it in a frame</label>
      <textarea
        id="origins"
        rows={3}
        spellcheck={false}
        aria-describedby={error ? 'origins-hint origins-error' : 'origins-hint'}
        aria-invalid={error ? 'true' : undefined}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <p id="origins-hint" class="hint">
        One in each line, like https://shop.example. At most 20.
      </p>
      {error && (
        <p id="origins-error" class="field-error">
          {error}
        </p>
      )}
    </div>
  )
}
