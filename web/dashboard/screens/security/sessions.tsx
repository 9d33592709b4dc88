import type { Sessions } from '../../answers.ts'
import { send } from '../../api.ts'
import { useAction, useData } from '../../components/data.ts'
import { List } from '../../components/list.tsx'
import { ProblemText } from '../../components/problem.tsx'
import { Section } from '../../components/screen.tsx'
import { Status } from '../../components/status.tsx'
import { Time } from '../../components/values.tsx'

export const SESSIONS = '/sessions'

export function OwnSessions() {
  const sessions = useData<Sessions>(SESSIONS)
  const end = useAction<void, string>({
    run: (id) => send('DELETE', `${SESSIONS}/${id}`),
    refresh: [SESSIONS],
    done: 'Session ended',
  })
  const endOthers = useAction({
    run: () => send('DELETE', SESSIONS),
    refresh: [SESSIONS],
    done: 'All other sessions ended',
  })
  return (
    <Section
      title="Sessions"
      about="Browsers in which you are signed in."
      actions={
        (sessions.data?.length ?? 0) > 1 && (
          <button type="button" aria-busy={endOthers.isPending} onClick={() => endOthers.mutate()}>
            End all others
          </button>
        )
      }
    >
      <ProblemText error={end.error ?? endOthers.error} />
      <List
        label="Sessions"
        query={{ ...sessions, rows: sessions.data }}
        keyOf={({ id }) => id}
        hasTimes
        columns={[
          { name: 'Browser', show: ({ userAgent }) => <span title={userAgent}>{browserOf(userAgent)}</span> },
          { name: 'Address', show: ({ address }) => address },
          { name: 'Signed in', show: ({ createdAt }) => <Time at={createdAt} /> },
          { name: 'Last seen', show: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
          {
            name: 'Actions',
            kind: 'actions',
            show: ({ id, current, userAgent }) =>
              current ? (
                <Status tone="good">This one</Status>
              ) : (
                <button
                  type="button"
                  aria-label={`End the session in ${browserOf(userAgent)}`}
                  onClick={() => end.mutate(id)}
                >
                  End
                </button>
              ),
          },
        ]}
        empty={{ title: 'No sessions', text: 'Sign in to see one.' }}
      />
    </Section>
  )
}

const BROWSERS: [name: string, sign: RegExp][] = [
  ['Edge', /Edg\//],
  ['Opera', /OPR\//],
  ['Firefox', /Firefox\//],
  ['Chrome', /Chrome\//],
  ['Safari', /Safari\//],
]
const SYSTEMS: [name: string, sign: RegExp][] = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
]

/** `Firefox on Windows`: only to recognise it, so an unknown one is shown as it is. */
function browserOf(userAgent: string): string {
  const browser = BROWSERS.find(([, sign]) => sign.test(userAgent))?.[0]
  const system = SYSTEMS.find(([, sign]) => sign.test(userAgent))?.[0]
  if (!browser) return userAgent.slice(0, 60) || 'Unknown'
  return system ? `${browser} on ${system}` : browser
}
