import { Link } from 'wouter-preact'
import { ApiError, Cancelled } from '../api.ts'

/** Why something failed, and what to do. Shows nothing without an error. */
export function ProblemText({ error }: { error: Error | null }) {
  if (!error || error instanceof Cancelled) return null
  return (
    <p class="problem" role="alert">
      {messageOf(error)}
      {error instanceof ApiError && error.code === 'second_factor_required' && (
        <>
          {' '}
          <Link href="/account">Open Security</Link>
        </>
      )}
    </p>
  )
}

/** In place of a screen or a list that could not be loaded. */
export function ProblemPanel({ error, retry }: { error: Error; retry: () => unknown }) {
  const isForbidden = error instanceof ApiError && error.code === 'forbidden'
  const needsFactor = error instanceof ApiError && error.code === 'second_factor_required'
  return (
    <div class="panel" role="alert">
      <h2>{isForbidden ? 'Not allowed' : needsFactor ? 'A second factor is needed' : 'This could not be loaded'}</h2>
      <p>{messageOf(error)}</p>
      {needsFactor && (
        <Link href="/account" class="button">
          Add a passkey or an app
        </Link>
      )}
      {!isForbidden && !needsFactor && (
        <button type="button" onClick={() => retry()}>
          Try again
        </button>
      )}
    </div>
  )
}

export function messageOf(error: Error): string {
  return error instanceof ApiError ? error.message : 'Something went wrong in this page. Reload it and try again.'
}
