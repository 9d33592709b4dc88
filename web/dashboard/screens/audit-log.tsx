import type { AuditPage } from '../answers.ts'
import { query } from '../api.ts'
import { usePage } from '../components/data.ts'
import { useFilters } from '../components/filters.ts'
import { List } from '../components/list.tsx'
import { Screen } from '../components/screen.tsx'
import { Time } from '../components/values.tsx'
import { useMerchant } from '../session.ts'

export default function AuditLog() {
  const merchant = useMerchant()
  const { cursor, set } = useFilters()
  const page = usePage<AuditPage>(merchant.apiOfBothModes('/audit-log') + query({ cursor }))
  const next = page.data?.nextCursor
  return (
    <Screen title="Audit log" about="Every sign-in, refusal and change of this merchant, in both modes.">
      <List
        label="Audit log"
        query={{ ...page, rows: page.data?.data }}
        keyOf={({ id }) => String(id)}
        hasTimes
        columns={[
          { name: 'When', show: ({ at }) => <Time at={at} /> },
          { name: 'Who', show: ({ memberName, actor }) => memberName ?? actor },
          { name: 'What', show: ({ act }) => <span class="cell-main">{inWords(act)}</span> },
          { name: 'Details', show: ({ subject }) => <code>{subject}</code> },
          { name: 'Address', show: ({ address }) => address ?? <span class="soft">None</span> },
        ]}
        pages={{
          first: cursor ? () => set({}) : undefined,
          next: next ? () => set({ cursor: next }) : undefined,
        }}
        empty={{ title: 'Nothing yet', text: 'Sign-ins and changes appear here.' }}
      />
    </Screen>
  )
}

/** `member.role_changed` is "Member: role changed". */
function inWords(act: string): string {
  const [about = '', ...what] = act.replaceAll('_', ' ').split('.')
  return `${about[0]?.toUpperCase()}${about.slice(1)}: ${what.join(' ')}`
}
