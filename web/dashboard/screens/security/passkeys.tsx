import { useState } from 'preact/hooks'
import type { SecondFactors } from '../../answers.ts'
import { send } from '../../api.ts'
import { useAction } from '../../components/data.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field, Form } from '../../components/form.tsx'
import { canUsePasskeys, createPasskey } from '../../components/passkey.ts'
import { ProblemText } from '../../components/problem.tsx'
import { Section } from '../../components/screen.tsx'
import { Time } from '../../components/values.tsx'
import { FACTORS } from './paths.ts'

export function Passkeys({ passkeys }: { passkeys: SecondFactors['passkeys'] }) {
  const [adding, setAdding] = useState(false)
  const remove = useAction<void, string>({
    run: (id) => send('DELETE', `/account/passkeys/${id}`),
    refresh: [FACTORS],
    done: 'Passkey removed',
  })
  return (
    <Section
      title="Passkeys"
      about="Sign in with your fingerprint, face or screen lock. A passkey replaces password and code."
      actions={
        canUsePasskeys() && (
          <button type="button" onClick={() => setAdding(true)}>
            Add a passkey
          </button>
        )
      }
    >
      <ProblemText error={remove.error} />
      {passkeys.length > 0 && (
        <ul class="rows">
          {passkeys.map(({ id, name, createdAt, lastUsedAt }) => (
            <li key={id}>
              <div>
                <div class="cell-main">{name}</div>
                <div class="cell-more">
                  Added <Time at={createdAt} />, last used: <Time at={lastUsedAt} none="never" />
                </div>
              </div>
              <button type="button" aria-label={`Remove ${name}`} onClick={() => remove.mutate(id)}>
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      {adding && <AddPasskey onClose={() => setAdding(false)} />}
    </Section>
  )
}

function AddPasskey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const action = useAction({
    run: async () => {
      const passkey = await createPasskey('/account/passkeys/options')
      await send('POST', '/account/passkeys', { name, passkey })
    },
    refresh: [FACTORS],
    done: 'Passkey added',
    onDone: onClose,
  })
  return (
    <Dialog title="Add a passkey" onClose={onClose}>
      <Form submit="Continue" action={action} onCancel={onClose}>
        <Field
          label="Name"
          hint="For you, to tell your passkeys apart. For example: work laptop."
          maxLength={100}
          required
          value={name}
          onText={setName}
        />
      </Form>
    </Dialog>
  )
}
