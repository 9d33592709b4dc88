import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import type { WelcomeLink } from '../answers.ts'
import { ApiError, send } from '../api.ts'
import { EmailField, NewPasswordField } from '../components/account-fields.tsx'
import { useAction } from '../components/data.ts'
import { Field, Form, fieldErrors } from '../components/form.tsx'
import { canUsePasskeys, createPasskey } from '../components/passkey.ts'
import { ProblemPanel, ProblemText } from '../components/problem.tsx'
import { PublicScreen } from '../components/screen.tsx'
import { isSignedOut, refreshSession, useSession } from '../session.ts'

const KEPT = 'manilla.link'

/** The token is in the fragment, which is never sent. A member who signs in first comes back without it. */
function tokenOfAddress(): string {
  return window.location.hash.slice(1) || (sessionStorage.getItem(KEPT) ?? '')
}

/** Opens a one-time link: the first account, an invitation, or a new password. */
export default function Welcome() {
  const [token] = useState(tokenOfAddress)
  const session = useSession()
  const link = useQuery({
    queryKey: ['link', token],
    queryFn: () => send<WelcomeLink>('POST', '/welcome/read', { token }),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const isKnown = session.data !== undefined || isSignedOut(session.error)
  if (link.error instanceof ApiError && link.error.status !== 0 && link.error.status < 500) return <DeadLink />
  const error = link.error ?? (isKnown ? null : session.error)
  if (error)
    return (
      <PublicScreen title="Welcome">
        <ProblemPanel error={error} retry={() => Promise.all([link.refetch(), session.refetch()])} />
      </PublicScreen>
    )
  if (!link.data || !isKnown)
    return (
      <main class="public">
        <p class="late">Loading …</p>
      </main>
    )
  if (link.data.kind === 'reset') return <ResetPassword token={token} />
  const member = session.data?.member
  if (member && link.data.kind === 'invitation') return <Join token={token} link={link.data} email={member.email} />
  return <CreateAccount token={token} link={link.data} />
}

function DeadLink() {
  return (
    <PublicScreen
      title="This link does not work"
      about="It was used, withdrawn or has expired. Ask for a new one. The operator gets one with “npm run manilla -- dashboard link”."
    >
      <Link href="/sign-in" class="button first">
        Sign in
      </Link>
    </PublicScreen>
  )
}

function useFinish() {
  const [, navigate] = useLocation()
  return async () => {
    sessionStorage.removeItem(KEPT)
    await refreshSession()
    navigate('/', { replace: true })
  }
}

function CreateAccount({ token, link }: { token: string; link: WelcomeLink }) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [withPassword, setWithPassword] = useState(!canUsePasskeys())
  const finish = useFinish()
  const account = { token, name, ...(link.kind === 'welcome' && { email }) }
  const action = useAction({
    run: async () => {
      const proof = withPassword ? { password } : { passkey: await createPasskey('/welcome/passkey-options', account) }
      await send('POST', '/welcome', { ...account, ...proof })
      await finish()
    },
  })
  const errors = fieldErrors(action.error)
  return (
    <PublicScreen
      title={link.kind === 'welcome' ? 'Welcome to Manilla' : `Join ${link.merchantName}`}
      about={
        link.kind === 'welcome'
          ? 'Create the first account. It owns the sandbox merchant and operates this installation.'
          : `You are invited as ${link.role}, with the address ${link.email}.`
      }
    >
      <Form submit={withPassword ? 'Create account' : 'Continue with a passkey'} action={action}>
        <Field
          label="Your name"
          autocomplete="name"
          maxLength={100}
          required
          value={name}
          error={errors.name}
          onText={setName}
        />
        {link.kind === 'welcome' && <EmailField value={email} error={errors.email} onText={setEmail} />}
        {withPassword && (
          <NewPasswordField label="Password" value={password} error={errors.password} onText={setPassword} />
        )}
      </Form>
      <div class="below">
        {canUsePasskeys() && (
          <button type="button" class="link" onClick={() => setWithPassword(!withPassword)}>
            {withPassword ? 'Use a passkey instead' : 'Use a password instead'}
          </button>
        )}
        {link.kind === 'invitation' && (
          <Link href="/sign-in?next=/welcome" onClick={() => sessionStorage.setItem(KEPT, token)}>
            I have an account
          </Link>
        )}
      </div>
    </PublicScreen>
  )
}

function Join({ token, link, email }: { token: string; link: WelcomeLink; email: string }) {
  const finish = useFinish()
  const action = useAction({
    run: async () => {
      await send('POST', '/welcome/join', { token })
      await finish()
    },
  })
  return (
    <PublicScreen
      title={`Join ${link.merchantName}`}
      about={`You are invited as ${link.role}. You are signed in as ${email}.`}
    >
      <button type="button" class="primary wide first" aria-busy={action.isPending} onClick={() => action.mutate()}>
        Join
      </button>
      <ProblemText error={action.error} />
    </PublicScreen>
  )
}

function ResetPassword({ token }: { token: string }) {
  const [password, setPassword] = useState('')
  const finish = useFinish()
  const action = useAction({
    run: async () => {
      await send('POST', '/welcome/password', { token, password })
      await finish()
    },
  })
  return (
    <PublicScreen title="New password" about="All your sessions end when you set it.">
      <Form submit="Set the password" action={action}>
        <NewPasswordField value={password} error={fieldErrors(action.error).password} onText={setPassword} />
      </Form>
    </PublicScreen>
  )
}
