import type { SecondFactors } from '../answers.ts'
import { useData } from '../components/data.ts'
import { ProblemPanel } from '../components/problem.tsx'
import { Screen } from '../components/screen.tsx'
import { useSession } from '../session.ts'
import { AuthenticatorApp } from './security/authenticator-app.tsx'
import { Passkeys } from './security/passkeys.tsx'
import { Password } from './security/password.tsx'
import { FACTORS } from './security/paths.ts'
import { OwnSessions } from './security/sessions.tsx'

/** The member's own ways to sign in. */
export default function Security() {
  const factors = useData<SecondFactors>(FACTORS)
  const { email } = useSession().data?.member ?? {}
  return (
    <Screen title="Security" about={`How you sign in as ${email}. It is the same for all your merchants.`}>
      {factors.data ? (
        <>
          <Passkeys passkeys={factors.data.passkeys} />
          <AuthenticatorApp factors={factors.data} />
          <Password hasPassword={factors.data.password} />
        </>
      ) : factors.error ? (
        <ProblemPanel error={factors.error} retry={factors.refetch} />
      ) : (
        <p class="late">Loading …</p>
      )}
      <OwnSessions />
    </Screen>
  )
}
