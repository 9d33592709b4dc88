import { Redirect, Route, Switch, useLocation } from 'wouter-preact'
import type { Session } from './answers.ts'
import { lazy } from './components/lazy.tsx'
import { ProblemPanel } from './components/problem.tsx'
import { Screen } from './components/screen.tsx'
import { StepUpDialog } from './components/step-up.tsx'
import { Toasts } from './components/toasts.tsx'
import { SCREENS } from './routes.ts'
import { currentMerchant, isSignedOut, lastMerchant, useSession } from './session.ts'
import { Shell } from './shell.tsx'

const SignIn = lazy(() => import('./screens/sign-in.tsx'))
const Welcome = lazy(() => import('./screens/welcome.tsx'))
const Security = lazy(() => import('./screens/security.tsx'))
const Operator = lazy(() => import('./screens/operator.tsx'))
const screens = SCREENS.map((route) => ({ ...route, Component: lazy(route.load) }))

export function App() {
  return (
    <>
      <Switch>
        <Route path="/welcome" component={Welcome} />
        <Route path="/sign-in" component={SignIn} />
        <Route component={ForMembers} />
      </Switch>
      <StepUpDialog />
      <Toasts />
    </>
  )
}

/** Everything that needs a finished sign-in. */
function ForMembers() {
  const [location] = useLocation()
  const { data: session, error, refetch } = useSession()
  const isFinished = session?.state === 'signed-in'
  if (isSignedOut(error) || (session && !isFinished)) {
    const next = location === '/' ? '' : `?next=${encodeURIComponent(location + window.location.search)}`
    return <Redirect to={`/sign-in${next}`} replace />
  }
  if (session) return <Screens session={session} location={location} />
  return (
    <main class="public">{error ? <ProblemPanel error={error} retry={refetch} /> : <p class="late">Loading …</p>}</main>
  )
}

function Screens({ session, location }: { session: Session; location: string }) {
  const [, first, second] = location.split('/')
  const access = session.merchants.find(({ id }) => id === first)
  const mode = access?.modes.find((each) => each === second)
  const named = access && mode && currentMerchant(access, mode)
  const merchant = named ?? lastMerchant(session)
  if (location === '/' && merchant) return <Redirect to={merchant.path('')} replace />

  return (
    <Shell session={session} merchant={merchant} isNamed={named !== undefined}>
      <Switch>
        <Route path="/account" component={Security} />
        {session.member?.operator && <Route path="/operator" component={Operator} />}
        {named &&
          screens.map(({ path, permission, Component }) => (
            <Route key={path} path={`/:merchant/:mode${path}`}>
              {named.may(permission) ? <Component key={named.path(path)} /> : <NotAllowed />}
            </Route>
          ))}
        <Route>{location === '/' ? <NoMerchant /> : <NotFound />}</Route>
      </Switch>
    </Shell>
  )
}

function NotAllowed() {
  return (
    <Screen title="Not allowed">
      <p>Your role does not allow this screen. Ask the owner of the merchant for another role.</p>
    </Screen>
  )
}

function NotFound() {
  return (
    <Screen title="Not found">
      <p>There is no such screen, or you are not a member of its merchant.</p>
    </Screen>
  )
}

function NoMerchant() {
  return (
    <Screen title="No merchant yet">
      <p>You are not a member of a merchant. Ask its owner for an invitation.</p>
    </Screen>
  )
}
