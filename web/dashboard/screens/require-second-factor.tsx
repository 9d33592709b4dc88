import { send } from '../api.ts'
import { useAction } from '../components/data.ts'
import { ProblemText } from '../components/problem.tsx'
import { Section } from '../components/screen.tsx'
import { useMerchant } from '../session.ts'

/** The owner's rule for all members. Others read it. */
export function RequireSecondFactor({ isRequired, path }: { isRequired: boolean; path: string }) {
  const merchant = useMerchant()
  const change = useAction<void, boolean>({
    run: (requireSecondFactor) => send('PUT', merchant.apiOfBothModes('/security'), { requireSecondFactor }),
    refresh: [path],
    done: 'Saved',
  })
  return (
    <Section title="Sign-in rule" about={merchant.may('ownership') ? undefined : 'Only the owner can change it.'}>
      <ProblemText error={change.error} />
      <label class="check">
        <input
          type="checkbox"
          checked={change.isPending ? change.variables : isRequired}
          disabled={change.isPending || !merchant.may('ownership')}
          onChange={(event) => change.mutate(event.currentTarget.checked)}
        />
        Every member needs a passkey or an authenticator app. Members without one see nothing of this merchant.
      </label>
    </Section>
  )
}
