import { useState } from 'preact/hooks'
import type { Members, OneTimeLink, Role } from '../answers.ts'
import { send } from '../api.ts'
import { useAction } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { Form, SelectField } from '../components/form.tsx'
import { LinkToCopy } from '../components/link-to-copy.tsx'
import { refreshSession, useMerchant } from '../session.ts'
import { GRANTED, inWords } from './roles.ts'

interface Parts {
  member: Members['members'][number]
  /** The endpoint of the list. */
  path: string
  onClose: () => void
}

type Step = 'choose' | 'reset' | 'owner' | 'remove'

/** Role, new sign-in, ownership and removal of a member below the owner. */
export function ManageMember(parts: Parts) {
  const [step, setStep] = useState<Step>('choose')
  if (step === 'reset') return <Reset {...parts} />
  if (step === 'owner') return <MakeOwner {...parts} />
  if (step === 'remove') return <Remove {...parts} />
  return <Choose {...parts} onStep={setStep} />
}

function Choose({ member, path, onClose, onStep }: Parts & { onStep: (step: Step) => void }) {
  const merchant = useMerchant()
  const [role, setRole] = useState(member.role as Exclude<Role, 'owner'>)
  const save = useAction({
    run: () => send('PATCH', `${path}/${member.id}`, { role }),
    refresh: [path],
    done: 'Role changed',
    onDone: onClose,
  })
  return (
    <Dialog title={member.name} onClose={onClose}>
      <Form submit="Save role" action={save}>
        <SelectField
          label="Role"
          value={role}
          onChange={setRole}
          options={GRANTED.map(([each]) => [each, inWords(each)] as const)}
          hint={`${GRANTED.find(([each]) => each === role)?.[1]} A change ends the sessions of ${member.name}.`}
        />
      </Form>
      <ul class="rows more">
        <li>
          <span>Cannot sign in?</span>
          <button type="button" onClick={() => onStep('reset')}>
            Create a reset link
          </button>
        </li>
        {merchant.may('ownership') && (
          <li>
            <span>Hand over {merchant.name}</span>
            <button type="button" onClick={() => onStep('owner')}>
              Make owner
            </button>
          </li>
        )}
        <li>
          <span>No longer works here?</span>
          <button type="button" class="danger" onClick={() => onStep('remove')}>
            Remove
          </button>
        </li>
      </ul>
    </Dialog>
  )
}

function Reset({ member, path, onClose }: Parts) {
  const [secondFactors, setSecondFactors] = useState(false)
  const action = useAction({
    run: () => send<OneTimeLink>('POST', `${path}/${member.id}/reset`, { secondFactors }),
  })
  return (
    <Dialog title={`New sign-in for ${member.name}`} onClose={onClose}>
      {action.data ? (
        <LinkToCopy link={action.data} to={member.email} onClose={onClose} />
      ) : (
        <Form submit="Create link" action={action} onCancel={onClose}>
          <p>With the link they set a new password.</p>
          <label class="check">
            <input
              type="checkbox"
              checked={secondFactors}
              onChange={(event) => setSecondFactors(event.currentTarget.checked)}
            />
            Also remove passkeys, authenticator app and recovery codes
          </label>
        </Form>
      )}
    </Dialog>
  )
}

function MakeOwner({ member, path, onClose }: Parts) {
  const merchant = useMerchant()
  const action = useAction({
    run: () => send('PUT', merchant.apiOfBothModes('/owner'), { member: member.id }),
    refresh: [path],
    done: `${member.name} is the owner now`,
    onDone: () => {
      onClose()
      void refreshSession()
    },
  })
  return (
    <Dialog title={`Make ${member.name} the owner?`} onClose={onClose}>
      <Form submit="Transfer the ownership" isDangerous action={action} onCancel={onClose}>
        <p>You become an admin of {merchant.name}. Only the new owner can give the ownership back.</p>
      </Form>
    </Dialog>
  )
}

function Remove({ member, path, onClose }: Parts) {
  const merchant = useMerchant()
  const action = useAction({
    run: () => send('DELETE', `${path}/${member.id}`),
    refresh: [path],
    done: `${member.name} was removed`,
    onDone: onClose,
  })
  return (
    <Dialog title={`Remove ${member.name}?`} onClose={onClose}>
      <Form submit="Remove" isDangerous action={action} onCancel={onClose}>
        <p>
          {member.email} loses access to {merchant.name} at once. Links that they created stop working.
        </p>
      </Form>
    </Dialog>
  )
}
