import { useState } from 'preact/hooks'
import type { AlertKind, Alerts } from '../answers.ts'
import { send } from '../api.ts'
import { useAction, useData } from '../components/data.ts'
import { Form } from '../components/form.tsx'
import { ProblemPanel } from '../components/problem.tsx'
import { Screen } from '../components/screen.tsx'
import { useMerchant } from '../session.ts'

const NAMES: Record<AlertKind, string> = {
  dispute_opened: 'A dispute was opened',
  dispute_due: 'A dispute must be answered within 3 days',
  refund_failed: 'A refund failed',
  case_opened: 'Another case needs a person',
  settlement: 'A settlement is late or different',
  provider_failing: 'A provider fails for an hour, or refuses the keys',
  webhooks_failing: 'A webhook endpoint fails for an hour',
  live_key: 'A live API key was made',
}

export default function AlertsScreen() {
  const merchant = useMerchant()
  const path = merchant.api('/alerts')
  const { data, error, refetch } = useData<Alerts>(path)
  return (
    <Screen
      title="Alerts"
      about={`What you are told by e-mail, in ${merchant.mode} mode. Other members choose their own.`}
    >
      {data ? (
        <Choice key={path} alerts={data} path={path} />
      ) : error ? (
        <ProblemPanel error={error} retry={refetch} />
      ) : (
        <p class="late">Loading …</p>
      )}
    </Screen>
  )
}

function Choice({ alerts, path }: { alerts: Alerts; path: string }) {
  const [kinds, setKinds] = useState(alerts.kinds)
  const [daily, setDaily] = useState(alerts.daily)
  const action = useAction({
    run: () => send<Alerts>('PUT', path, { kinds, daily }),
    refresh: [path],
    done: 'Alerts saved',
  })
  const toggle = (kind: AlertKind, isOn: boolean) =>
    setKinds(isOn ? [...kinds, kind] : kinds.filter((each) => each !== kind))
  return (
    <div class="narrow">
      {!alerts.hasMail && (
        <p class="soft">No mail is sent: the operator of this service has set no mail server (SMTP_URL).</p>
      )}
      <Form submit="Save alerts" action={action}>
        <fieldset class="choices">
          <legend>Tell {alerts.email} when</legend>
          {alerts.available.map((kind) => (
            <label class="check" key={kind}>
              <input
                type="checkbox"
                checked={kinds.includes(kind)}
                onChange={(event) => toggle(kind, event.currentTarget.checked)}
              />
              {NAMES[kind]}
            </label>
          ))}
        </fieldset>
        <fieldset class="choices">
          <legend>How</legend>
          {[false, true].map((isDaily) => (
            <label class="check" key={String(isDaily)}>
              <input type="radio" name="daily" checked={daily === isDaily} onChange={() => setDaily(isDaily)} />
              {isDaily ? 'One mail a day, after 8 o’clock' : 'At once, one mail in an hour for each kind at most'}
            </label>
          ))}
        </fieldset>
      </Form>
    </div>
  )
}
