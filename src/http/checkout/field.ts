import { type Html, html } from '../../kernel/html.ts'
import { all, attributes, flag } from './markup.ts'

export interface Field {
  /** One for each field of a page. */
  id: string
  name: string
  label: string
  value: string
  attributes: Record<string, string | undefined>
  isRequired?: boolean
  hint?: string | undefined
  /** What is wrong with the value. */
  mistake?: string | undefined
  /** The first wrong field of a form gets the focus. */
  isFirstMistake?: boolean
  /** Stands before the value: the prefix of a phone number. */
  lead?: string | undefined
  class?: string
}

export function textField(field: Field): Html {
  const { id, name, label, value, lead, isRequired = true } = field
  const input = html`<input id="${id}" name="${name}" value="${value}"${flag('required', isRequired)}${attributes({
    ...field.attributes,
    ...described(field),
  })}${flag('autofocus', field.isFirstMistake === true)}>`
  return html`<div class="field${field.class ? ` ${field.class}` : ''}"><label for="${id}">${label}</label>
${lead ? html`<div class="lead" dir="ltr"><span id="${id}-lead">${lead}</span>${input}</div>` : input}
${notes(field)}</div>`
}

/** `empty`: the first option, which is no choice. */
export function selectField(field: Field, options: readonly { code: string; name: string }[], empty: string): Html {
  const { id, name, label, value } = field
  const choices = options.map(
    ({ code, name }) => html`<option value="${code}"${flag('selected', code === value)}>${name}</option>`,
  )
  return html`<div class="field"><label for="${id}">${label}</label>
<select id="${id}" name="${name}" required${attributes(described(field))}${flag('autofocus', field.isFirstMistake === true)}><option value="">${empty}</option>${all(choices)}</select>
${notes(field)}</div>`
}

function described({ id, hint, mistake, lead }: Field): Record<string, string | undefined> {
  const by = [lead && `${id}-lead`, hint && `${id}-hint`, mistake && `${id}-error`].filter(Boolean).join(' ')
  return { 'aria-invalid': mistake && 'true', 'aria-describedby': by || undefined }
}

function notes({ id, hint, mistake }: Field): Html {
  return html`${hint ? html`<p class="note" id="${id}-hint">${hint}</p>` : null}
${mistake ? mistakeNote(id, mistake) : null}`
}

export function mistakeNote(id: string, mistake: string): Html {
  return html`<p class="wrong" id="${id}-error">${mistake}</p>`
}
