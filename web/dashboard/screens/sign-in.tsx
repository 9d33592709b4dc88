import { useState } from 'preact/hooks'
import { Redirect, useSearchParams } from 'wouter-preact'
import type { Session } from '../answers.ts'
import { send } from '../api.ts'
import { EmailField, PasskeyButton, PasswordField } from '../components/account-fields.tsx'
import { useAction } from '../components/data.ts'
import { Form } from '../components/form.tsx'
import { canUsePasskeys, signWithPasskey } from '../components/passkey.ts'
import { ProofForm } from '../components/proof.tsx'
import { PublicScreen } from '../components/screen.tsx'
import { client, refreshSession, useSession } from '../session.ts'

export default function SignIn() {
  const [params] = useSearchParams()
  const { data: session } = useSession()
  const [isForgotten, setForgotten] = useState(false)
  if (session?.state === 'signed-in') {
    const next = params.get('next') ?? '/'
    return <Redirect to={next.startsWith('/') ? next : '/'} replace />
  }
  if (session?.state === 'second-factor') return <SecondFactor session={session} />
  if (isForgotten) return <Forgotten onBack={() => setForgotten(false)} />
  return <FirstFactor onForgotten={() => setForgotten(true)} />
}

function FirstFactor({ onForgotten }: { onForgotten: () => void }) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const byPasskey = useAction({
    run: async () => send('POST', '/sign-in/passkey', { passkey: await signWithPasskey('/sign-in') }),
    onDone: refreshSession,
  })
  const byPassword = useAction({
    run: () => send('POST', '/sign-in/password', { email, password }),
    onDone: refreshSession,
  })
  return (
    <PublicScreen title="Sign in">
      {canUsePasskeys() && (
        <PasskeyButton action={byPasskey} or="or with your password">
          Sign in with a passkey
        </PasskeyButton>
      )}
      <Form submit="Sign in" isSecondary={canUsePasskeys()} action={byPassword}>
        <EmailField value={email} onText={setEmail} />
        <PasswordField value={password} onText={setPassword} />
      </Form>
      <div class="below">
        <button type="button" class="link" onClick={onForgotten}>
          Forgot your password?
        </button>
      </div>
    </PublicScreen>
  )
}

function SecondFactor({ session }: { session: Session }) {
  async function startAgain() {
    await send('POST', '/sign-out').catch(() => {})
    client.clear()
    window.location.reload()
  }
  return (
    <PublicScreen title="One more step" about="Prove that it is you.">
      <ProofForm
        methods={session.methods}
        endpoint="/sign-in/second-factor"
        submit="Continue"
        onDone={() => void refreshSession()}
      />
      <div class="below">
        <button type="button" class="link" onClick={startAgain}>
          Sign in with another account
        </button>
      </div>
    </PublicScreen>
  )
}

function Forgotten({ onBack }: { onBack: () => void }) {
  const [email, setEmail] = useState('')
  const action = useAction({ run: () => send('POST', '/sign-in/forgot', { email }) })
  const back = (
    <div class="below">
      <button type="button" class="link first" onClick={onBack}>
        Back to sign-in
      </button>
    </div>
  )
  if (action.isSuccess)
    return (
      <PublicScreen
        key="sent"
        title="Check your e-mail"
        about="If this address has an account, a link for a new password is on its way. No e-mail? An owner or admin of your merchant can create a link for you."
      >
        {back}
      </PublicScreen>
    )
  return (
    <PublicScreen title="New password" about="We send you a link with which you set a new password.">
      <Form submit="Send the link" action={action}>
        <EmailField value={email} onText={setEmail} />
      </Form>
      {back}
    </PublicScreen>
  )
}
