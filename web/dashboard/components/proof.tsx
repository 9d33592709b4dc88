import { useState } from 'preact/hooks'
import type { ProofMethod } from '../answers.ts'
import { send } from '../api.ts'
import { CodeField, PasskeyButton, PasswordField } from './account-fields.tsx'
import { useAction } from './data.ts'
import { Field, Form } from './form.tsx'
import { signWithPasskey } from './passkey.ts'

interface Parts<Answer> {
  methods: ProofMethod[]
  /** The endpoint that takes the proof; `{endpoint}/passkey-options` gives the challenge. */
  endpoint: string
  submit: string
  onDone: (answer: Answer) => void
}

/** Proves the identity: by passkey, code of an app, recovery code or password, whichever the account has. */
export function ProofForm<Answer>({ methods, endpoint, submit, onDone }: Parts<Answer>) {
  const typed = methods.filter((method) => method !== 'passkey')
  const [method, setMethod] = useState<ProofMethod | undefined>(typed[0])
  const [text, setText] = useState('')
  const byPasskey = useAction({
    run: async () => send<Answer>('POST', endpoint, { passkey: await signWithPasskey(endpoint) }),
    onDone,
  })
  const byText = useAction({
    run: () =>
      send<Answer>('POST', endpoint, proofOf(method, text)).catch((error: unknown) => {
        setText('')
        throw error
      }),
    onDone,
  })
  return (
    <>
      {methods.includes('passkey') && (
        <PasskeyButton action={byPasskey} or={typed.length > 0 && 'or'}>
          Use a passkey
        </PasskeyButton>
      )}
      {method && (
        <Form submit={submit} isSecondary={methods.includes('passkey')} action={byText}>
          {method === 'totp' && <CodeField value={text} onText={setText} />}
          {method === 'recovery-code' && (
            <Field
              label="Recovery code"
              autocomplete="off"
              spellcheck={false}
              hint="Each recovery code works once."
              maxLength={50}
              required
              value={text}
              onText={setText}
            />
          )}
          {method === 'password' && <PasswordField value={text} onText={setText} />}
        </Form>
      )}
      {typed.length > 1 && (
        <button
          type="button"
          class="link"
          onClick={() => {
            setText('')
            setMethod(method === 'totp' ? 'recovery-code' : 'totp')
          }}
        >
          {method === 'totp' ? 'Use a recovery code' : 'Use the authenticator app'}
        </button>
      )}
    </>
  )
}

function proofOf(method: ProofMethod | undefined, text: string) {
  if (method === 'totp') return { code: text.trim() }
  return method === 'password' ? { password: text } : { recoveryCode: text.trim() }
}
