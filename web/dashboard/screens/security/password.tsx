import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { NewPasswordField } from '../../components/account-fields.tsx'
import { useAction } from '../../components/data.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Form, fieldErrors } from '../../components/form.tsx'
import { Section } from '../../components/screen.tsx'
import { FACTORS } from './paths.ts'
import { SESSIONS } from './sessions.tsx'

export function Password({ hasPassword }: { hasPassword: boolean }) {
  const [changing, setChanging] = useState(false)
  return (
    <Section
      title="Password"
      about={hasPassword ? 'You can sign in with a password.' : 'You have no password. You sign in with a passkey.'}
      actions={
        <button type="button" onClick={() => setChanging(true)}>
          {hasPassword ? 'Change password' : 'Set a password'}
        </button>
      }
    >
      {changing && <ChangePassword onClose={() => setChanging(false)} />}
    </Section>
  )
}

function ChangePassword({ onClose }: { onClose: () => void }) {
  const [password, setPassword] = useState('')
  const action = useAction({
    run: () => send('PUT', '/account/password', { password }),
    refresh: [FACTORS, SESSIONS],
    done: 'Password changed. Your other sessions have ended.',
    onDone: onClose,
  })
  return (
    <Dialog title="New password" onClose={onClose}>
      <Form submit="Save" action={action} onCancel={onClose}>
        <NewPasswordField
          hint="At least 12 characters. Your other sessions end."
          value={password}
          error={fieldErrors(action.error).password}
          onText={setPassword}
        />
      </Form>
    </Dialog>
  )
}
