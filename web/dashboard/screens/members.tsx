import { useState } from 'preact/hooks'
import type { Members, OneTimeLink, Role } from '../answers.ts'
import { send } from '../api.ts'
import { EmailField } from '../components/account-fields.tsx'
import { useAction, useData } from '../components/data.ts'
import { Dialog } from '../components/dialog.tsx'
import { Form, fieldErrors, SelectField } from '../components/form.tsx'
import { LinkToCopy } from '../components/link-to-copy.tsx'
import { List } from '../components/list.tsx'
import { ProblemText } from '../components/problem.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { Status } from '../components/status.tsx'
import { Time } from '../components/values.tsx'
import { useMerchant, useSession } from '../session.ts'
import { ManageMember } from './manage-member.tsx'
import { RequireSecondFactor } from './require-second-factor.tsx'
import { GRANTED, inWords } from './roles.ts'

type Member = Members['members'][number]
type Invitation = Members['invitations'][number]

export default function MembersScreen() {
  const merchant = useMerchant()
  const me = useSession().data?.member?.id
  const path = merchant.apiOfBothModes('/members')
  const members = useData<Members>(path)
  const [inviting, setInviting] = useState(false)
  const [managed, setManaged] = useState<Member>()
  const invitations = members.data?.invitations ?? []
  return (
    <Screen
      title="Members"
      about="People who work with this merchant, in both modes."
      actions={
        <button type="button" class="primary" onClick={() => setInviting(true)}>
          Invite
        </button>
      }
    >
      <List
        label="Members"
        query={{ ...members, rows: members.data?.members }}
        keyOf={({ id }) => id}
        hasTimes
        columns={[
          {
            name: 'Name',
            show: ({ id, name, email }) => (
              <div>
                <div class="cell-main">
                  {name}
                  {id === me && <span class="soft"> (you)</span>}
                </div>
                <div class="cell-more">{email}</div>
              </div>
            ),
          },
          { name: 'Role', show: ({ role }) => inWords(role) },
          {
            name: 'Second factor',
            show: ({ secondFactor }) =>
              secondFactor ? <Status tone="good">On</Status> : <Status tone="attention">Off</Status>,
          },
          { name: 'Last visit', show: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
          {
            name: 'Actions',
            kind: 'actions',
            show: (member) =>
              member.role !== 'owner' &&
              member.id !== me && (
                <button type="button" aria-label={`Manage ${member.name}`} onClick={() => setManaged(member)}>
                  Manage
                </button>
              ),
          },
        ]}
        empty={{ title: 'No members', text: 'Invite the people who work with this merchant.' }}
      />
      {invitations.length > 0 && <Invitations invitations={invitations} path={path} />}
      {members.data && merchant.may('ownership') && (
        <RequireSecondFactor isRequired={members.data.requireSecondFactor} path={path} />
      )}
      {inviting && <Invite path={path} onClose={() => setInviting(false)} />}
      {managed && <ManageMember member={managed} path={path} onClose={() => setManaged(undefined)} />}
    </Screen>
  )
}

function Invitations({ invitations, path }: { invitations: Invitation[]; path: string }) {
  const merchant = useMerchant()
  const withdraw = useAction<void, string>({
    run: (id) => send('DELETE', merchant.apiOfBothModes(`/invitations/${id}`)),
    refresh: [path],
    done: 'Invitation withdrawn',
  })
  return (
    <Section title="Invitations" about="Links that were not opened yet.">
      <ProblemText error={withdraw.error} />
      <ul class="rows">
        {invitations.map(({ id, email, role, expiresAt }) => (
          <li key={id}>
            <div>
              <div class="cell-main">{email}</div>
              <div class="cell-more">
                {inWords(role)}, until <Time at={expiresAt} />
              </div>
            </div>
            <button
              type="button"
              aria-label={`Withdraw the invitation of ${email}`}
              onClick={() => withdraw.mutate(id)}
            >
              Withdraw
            </button>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Invite({ path, onClose }: { path: string; onClose: () => void }) {
  const merchant = useMerchant()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Exclude<Role, 'owner'>>('viewer')
  const action = useAction({
    run: () => send<OneTimeLink>('POST', merchant.apiOfBothModes('/invitations'), { email, role }),
    refresh: [path],
  })
  if (action.data)
    return (
      <Dialog key="link" title="Invitation created" onClose={onClose}>
        <LinkToCopy link={action.data} to={email} onClose={onClose} />
      </Dialog>
    )
  return (
    <Dialog title="Invite a member" onClose={onClose}>
      <Form submit="Create invitation" action={action} onCancel={onClose}>
        <EmailField isOther value={email} error={fieldErrors(action.error).email} onText={setEmail} />
        <SelectField
          label="Role"
          value={role}
          onChange={setRole}
          options={GRANTED.map(([each]) => [each, inWords(each)] as const)}
          hint={GRANTED.find(([each]) => each === role)?.[1]}
        />
      </Form>
    </Dialog>
  )
}
