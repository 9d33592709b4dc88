import type { ComponentChildren, InputHTMLAttributes } from 'preact'
import { useId } from 'preact/hooks'
import { ApiError } from '../api.ts'
import { ProblemText } from './problem.tsx'

interface FieldParts extends Omit<InputHTMLAttributes, 'label' | 'onInput'> {
  label: string
  hint?: ComponentChildren
  error?: string | undefined
  onText?: (text: string) => void
}

/** A labelled input with its hint and its mistake. */
export function Field({ label, hint, error, onText, ...input }: FieldParts) {
  const id = useId()
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        aria-invalid={error ? 'true' : undefined}
        aria-describedby={described || undefined}
        onInput={(event) => onText?.(event.currentTarget.value)}
        {...input}
      />
      {hint && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} class="field-error">
          {error}
        </p>
      )}
    </div>
  )
}

interface SelectParts<Value extends string> {
  label: string
  value: Value
  options: readonly (readonly [value: Value, name: string])[]
  hint?: ComponentChildren
  /** The option without a value does not count. */
  required?: boolean
  onChange: (value: Value) => void
}

export function SelectField<Value extends string>(parts: SelectParts<Value>) {
  const { label, value, options, hint, required, onChange } = parts
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        required={required}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChange(event.currentTarget.value as Value)}
      >
        {options.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
      {hint && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  )
}

interface FormParts {
  /** The text of the button. */
  submit: string
  /** The button is for something that cannot be undone. */
  isDangerous?: boolean
  /** Another button of the screen is the main one. */
  isSecondary?: boolean
  action: { mutate: () => void; isPending: boolean; error: Error | null }
  onCancel?: () => void
  children?: ComponentChildren
}

/** A form around one action: shows its error, and its button waits while it runs. */
export function Form({ submit, isDangerous, isSecondary, action, onCancel, children }: FormParts) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!action.isPending) action.mutate()
      }}
    >
      {children}
      {Object.keys(fieldErrors(action.error)).length === 0 && <ProblemText error={action.error} />}
      <div class="form-actions">
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button
          type="submit"
          class={isDangerous ? 'danger' : isSecondary ? undefined : 'primary'}
          aria-busy={action.isPending}
        >
          {submit}
        </button>
      </div>
    </form>
  )
}

/** The mistakes of a refused form, by field. */
export function fieldErrors(error: Error | null): Record<string, string> {
  return error instanceof ApiError ? error.fields : {}
}
