import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import type { Mode, Session } from './answers.ts'
import { send } from './api.ts'
import { useLiveUpdates } from './live.ts'
import { SCREENS } from './routes.ts'
import { type CurrentMerchant, client, currentMerchant, MerchantContext, rememberMerchant } from './session.ts'
import { chooseTheme, currentTheme, THEMES, type Theme } from './theme.ts'

interface Parts {
  session: Session
  /** Undefined for a member without a merchant. */
  merchant: CurrentMerchant | undefined
  /** The address names the merchant. */
  isNamed: boolean
  children: ComponentChildren
}

/** Navigation, merchant, mode and account around every screen. */
export function Shell({ session, merchant, isNamed, children }: Parts) {
  useEffect(() => {
    if (merchant && isNamed) rememberMerchant(merchant)
  }, [merchant, isNamed])
  useLiveUpdates(isNamed ? merchant : undefined)
  const [location] = useLocation()
  // A new address closes the navigation of a phone, and the menu.
  useEffect(() => document.getElementById('navigation')?.hidePopover?.(), [location])

  return (
    <MerchantContext.Provider value={merchant}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="bar">
        {merchant && (
          <button type="button" class="quiet menu-button" popovertarget="navigation" aria-label="Navigation">
            <MenuIcon />
          </button>
        )}
        {merchant && <MerchantSwitch merchant={merchant} session={session} />}
        {merchant && isNamed && <ModeSwitch merchant={merchant} />}
        <AccountMenu session={session} />
      </header>
      {merchant && isNamed && merchant.mode === 'sandbox' && <Strip title="Sandbox">No real money moves here.</Strip>}
      {merchant?.suspended && (
        <Strip title="Suspended">The operator of this service has suspended this merchant. You can only read.</Strip>
      )}
      <div class="body">
        {merchant && <Navigation merchant={merchant} location={location} />}
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
    </MerchantContext.Provider>
  )
}

function Strip({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <aside class="strip" aria-label={title}>
      <strong>{title}</strong> {children}
    </aside>
  )
}

/** A column on a wide window; on a phone a popover. */
function Navigation({ merchant, location }: { merchant: CurrentMerchant; location: string }) {
  const shown = SCREENS.filter(({ name, permission }) => name && merchant.may(permission))
  const groups = [...new Set(shown.map(({ group }) => group))]
  const isCurrent = (path: string) =>
    location === merchant.path(path) || (path !== '' && location.startsWith(`${merchant.path(path)}/`))
  return (
    <nav id="navigation" class="navigation" aria-label="Main" popover="auto">
      {groups.map((group) => (
        <div key={group ?? ''} class="nav-group">
          {group && <h2>{group}</h2>}
          <ul>
            {shown
              .filter((each) => each.group === group)
              .map(({ path, name }) => (
                <li key={path}>
                  <Link href={merchant.path(path)} aria-current={isCurrent(path) ? 'page' : undefined}>
                    {name}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

function MerchantSwitch({ merchant, session }: { merchant: CurrentMerchant; session: Session }) {
  const [, navigate] = useLocation()
  if (session.merchants.length === 1) return <strong class="merchant-name">{merchant.name}</strong>
  const change = (id: string) => {
    const access = session.merchants.find((each) => each.id === id)
    if (access) navigate(currentMerchant(access, merchant.mode).path(''))
  }
  return (
    <select
      class="merchant-switch"
      aria-label="Merchant"
      value={merchant.id}
      onChange={(event) => change(event.currentTarget.value)}
    >
      {session.merchants.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

const MODE_NAMES: Record<Mode, string> = { live: 'Live', sandbox: 'Sandbox' }

/** The same screen in the other mode. A screen of one object does not exist there, so its list is opened. */
function ModeSwitch({ merchant }: { merchant: CurrentMerchant }) {
  const [location] = useLocation()
  const screen = location.split('/')[3]
  const target = (mode: Mode) => currentMerchant(merchant, mode).path(screen ? `/${screen}` : '')
  return (
    <nav class="mode" aria-label="Mode">
      {(['live', 'sandbox'] as const).map((mode) => (
        <Link key={mode} href={target(mode)} class={mode} aria-current={merchant.mode === mode ? 'true' : undefined}>
          {MODE_NAMES[mode]}
        </Link>
      ))}
    </nav>
  )
}

function AccountMenu({ session }: { session: Session }) {
  const [location, navigate] = useLocation()
  const [theme, setTheme] = useState(currentTheme())
  const { name = '', email = '' } = session.member ?? {}
  const initials = initialsOf(name)
  useEffect(() => document.getElementById('account')?.hidePopover?.(), [location])

  async function signOut() {
    await send('POST', '/sign-out').catch(() => {}) // a session that has ended already is signed out
    navigate('/sign-in')
    client.clear()
  }

  function change(chosen: Theme) {
    chooseTheme(chosen)
    setTheme(chosen)
  }

  return (
    <>
      <button
        type="button"
        class="account-button"
        popovertarget="account"
        aria-label={`${initials}, account of ${name}`}
      >
        {initials}
      </button>
      <div id="account" popover="auto" class="menu">
        <p class="who">
          <strong>{name}</strong>
          <span>{email}</span>
        </p>
        <Link href="/account">Security</Link>
        {session.member?.operator && <Link href="/operator">Operator</Link>}
        <label class="theme">
          Theme
          <select value={theme} onChange={(event) => change(event.currentTarget.value as Theme)}>
            {THEMES.map((each) => (
              <option key={each} value={each}>
                {each[0]?.toUpperCase() + each.slice(1)}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </div>
    </>
  )
}

function initialsOf(name: string): string {
  const words = name.split(/\s+/).filter(Boolean)
  return [words[0], words.length > 1 ? words.at(-1) : '']
    .map((word) => [...(word ?? '')][0] ?? '')
    .join('')
    .toUpperCase()
}

function MenuIcon() {
  return (
    <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
      <path d="M3 5h14M3 10h14M3 15h14" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" />
    </svg>
  )
}
