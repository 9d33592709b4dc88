import type { ComponentChildren } from 'preact'
import { Field } from './form.tsx'
import { ProblemText } from './problem.tsx'

/** The fields of sign-in and account forms. Password managers know them by `autocomplete`. */
interface Parts {
  label?: string
  hint?: ComponentChildren
  value: string
  error?: string | undefined
  onText: (text: string) => void
}

/**
 * The address that a member signs in with. `isOther`: the address of another person, so password managers leave it
 * empty.
 */
export function EmailField({ label = 'E-mail address', isOther, ...field }: Parts & { isOther?: boolean }) {
  const autocomplete = isOther ? 'off' : 'username'
  return <Field {...field} label={label} type="email" autocomplete={autocomplete} maxLength={254} required />
}

export function PasswordField({ label = 'Password', ...field }: Parts) {
  return <Field {...field} label={label} type="password" autocomplete="current-password" maxLength={1000} required />
}

export function NewPasswordField({ label = 'New password', hint = 'At least 12 characters.', ...field }: Parts) {
  return (
    <Field
      {...field}
      label={label}
      hint={hint}
      type="password"
      autocomplete="new-password"
      minLength={12}
      maxLength={1000}
      required
    />
  )
}

/** A code of an authenticator app. */
export function CodeField({ label = 'Code from your authenticator app', ...field }: Parts) {
  return (
    <Field
      {...field}
      label={label}
      inputMode="numeric"
      autocomplete="one-time-code"
      pattern="[0-9 ]*"
      maxLength={20}
      required
    />
  )
}

interface PasskeyParts {
  action: { mutate: () => void; isPending: boolean; error: Error | null }
  /** Before the other ways, if there are any. */
  or?: string | false
  children: string
}

/** The first way to prove an identity. */
export function PasskeyButton({ action, or, children }: PasskeyParts) {
  return (
    <>
      <button type="button" class="primary wide first" aria-busy={action.isPending} onClick={() => action.mutate()}>
        {children}
      </button>
      <ProblemText error={action.error} />
      {or && <p class="or">{or}</p>}
    </>
  )
}
