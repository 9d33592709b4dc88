import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Settings } from '../answers.ts'
import { send } from '../api.ts'
import { useAction, useData } from '../components/data.ts'
import { Field, Form, fieldErrors, SelectField } from '../components/form.tsx'
import { ProblemPanel } from '../components/problem.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { Status } from '../components/status.tsx'
import { parseMoney } from '../components/values.tsx'
import { currentMerchant, refreshSession, useMerchant } from '../session.ts'
import { BROWSER_ZONE } from '../zone.ts'
import { ReceiptSettings } from './receipts.tsx'
import { RequireSecondFactor } from './require-second-factor.tsx'

export default function SettingsScreen() {
  const merchant = useMerchant()
  const path = merchant.apiOfBothModes('/settings')
  const { data, error, refetch } = useData<Settings>(path)
  return (
    <Screen title="Settings" about="They apply to both modes, except receipts.">
      {data ? (
        <>
          <General settings={data} path={path} />
          <RefundLimit refundLimit={data.refundLimit} path={path} />
          <RequireSecondFactor isRequired={data.requireSecondFactor} path={path} />
          <ReceiptSettings />
          <LiveMode live={data.live} />
          {merchant.may('ownership') && (
            <Section title="Ownership" about="You own this merchant. You can make another member the owner.">
              <Link class="button" href={merchant.path('/members')}>
                Open Members
              </Link>
            </Section>
          )}
        </>
      ) : error ? (
        <ProblemPanel error={error} retry={refetch} />
      ) : (
        <p class="late">Loading …</p>
      )}
    </Screen>
  )
}

interface Part {
  path: string
}

function General({ settings, path }: Part & { settings: Settings }) {
  const [name, setName] = useState(settings.name)
  const [country, setCountry] = useState(settings.country)
  const [timeZone, setTimeZone] = useState(settings.timeZone ?? '')
  const action = useAction({
    run: () => send<Settings>('PATCH', path, { name, country, timeZone: timeZone || null }),
    refresh: [path],
    done: 'Settings saved',
    onDone: (saved) => {
      setName(saved.name)
      setCountry(saved.country)
      void refreshSession()
    },
  })
  const errors = fieldErrors(action.error)
  return (
    <Section title="Merchant">
      <div class="narrow">
        <Form submit="Save" action={action}>
          <Field
            label="Name"
            hint="Customers see it on the payment page."
            maxLength={200}
            required
            value={name}
            error={errors.name}
            onText={setName}
          />
          <Field
            label="Country"
            hint={`${nameOf(country)}New payment links start with it.`}
            maxLength={100}
            required
            value={country}
            error={errors.country}
            onText={setCountry}
          />
          <SelectField
            label="Time zone"
            hint="For days and times in this dashboard. Exports and the API use UTC."
            value={timeZone}
            options={zones(settings.timeZone)}
            onChange={setTimeZone}
          />
        </Form>
      </div>
    </Section>
  )
}

/** `Nigeria. `, for a code of two letters. */
function nameOf(country: string): string {
  if (!/^[A-Z]{2}$/.test(country)) return ''
  return `${new Intl.DisplayNames('en', { type: 'region' }).of(country)}. `
}

function zones(current: string | null): [string, string][] {
  const known = new Set([...Intl.supportedValuesOf('timeZone'), 'UTC', ...(current ? [current] : [])])
  return [
    ['', `The zone of each browser (here ${inWords(BROWSER_ZONE)})`],
    ...[...known].sort().map((zone): [string, string] => [zone, inWords(zone)]),
  ]
}

function inWords(zone: string): string {
  return zone.replaceAll('_', ' ')
}

/** The limit has no currency: it is counted in that of each payment. */
const ANY_CURRENCY = 'NGN'

function RefundLimit({ refundLimit, path }: Part & { refundLimit: number }) {
  const merchant = useMerchant()
  const [text, setText] = useState((refundLimit / 100).toFixed(2))
  const amount = parseMoney(text, ANY_CURRENCY)
  const action = useAction({
    run: () => send('PUT', merchant.apiOfBothModes('/refund-limit'), { refundLimit: amount }),
    refresh: [path],
    done: 'Refund limit saved',
  })
  const mistake = amount === undefined ? 'Enter an amount, like 50000.00' : undefined
  return (
    <Section
      title="Refund limit"
      about="Support cannot refund more than this of one payment. Owner and admins confirm a larger refund with their second factor."
    >
      <div class="narrow">
        <Form submit="Save limit" action={action}>
          <Field
            label="Limit for one payment"
            hint="All its refunds together, in the currency of the payment."
            inputMode="decimal"
            maxLength={20}
            required
            value={text}
            error={fieldErrors(action.error).refundLimit ?? mistake}
            onText={setText}
          />
        </Form>
      </div>
    </Section>
  )
}

/** What has to be there before real money can be taken. */
function LiveMode({ live }: { live: Settings['live'] }) {
  const merchant = currentMerchant(useMerchant(), 'live')
  const needs = [
    { what: 'provider', count: live.providers, screen: '/providers', next: 'Set up a provider' },
    { what: 'API key', count: live.apiKeys, screen: '/api-keys', next: 'Create an API key' },
  ]
  return (
    <Section
      title="Live mode"
      about="Real money. A link works with a provider alone; your backend also needs an API key."
    >
      <ul class="rows">
        {needs.map(({ what, count, screen, next }) => (
          <li key={what}>
            {count > 0 ? (
              <Status tone="good">
                {count} {what}
                {count === 1 ? '' : 's'}
              </Status>
            ) : (
              <Status tone="waiting">No {what} yet</Status>
            )}
            <Link href={merchant.path(screen)}>{count > 0 ? `Open live ${what}s` : next}</Link>
          </li>
        ))}
      </ul>
    </Section>
  )
}
