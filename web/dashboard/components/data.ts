import { keepPreviousData, useMutation, useQuery } from '@tanstack/preact-query'
import { useRef } from 'preact/hooks'
import { get, getPage } from '../api.ts'
import { client } from '../session.ts'
import { announce } from './toasts.tsx'

const POLL_MS = 3_000

/** The cache key of an endpoint. Its first part is the path, so that a change refreshes every filter and page of it. */
function keyOf(path: string): string[] {
  return path.split('?')
}

/**
 * The `data` of an endpoint. `isFinal`: it is read every 3 s, while the page is visible, until this is true. `everyMs`:
 * it is read again and again, and what was read for the path before stays until the answer is here.
 */
export function useData<Data>(
  path: string,
  isFinal: (data: Data | undefined) => boolean = () => true,
  everyMs?: number,
) {
  return useQuery<Data>({
    queryKey: keyOf(path),
    queryFn: ({ signal }) => get<Data>(path, signal),
    refetchInterval: ({ state }) => everyMs ?? (isFinal(state.data) ? false : POLL_MS),
    ...(everyMs && { placeholderData: keepPreviousData }),
  })
}

/** A page of a list with its `nextCursor`. The page before stays until the next one is here. */
export function usePage<Answer>(path: string) {
  return useQuery<Answer>({
    queryKey: keyOf(path),
    queryFn: ({ signal }) => getPage<Answer>(path, signal),
    placeholderData: keepPreviousData,
  })
}

interface Action<Input, Result> {
  run: (input: Input) => Promise<Result>
  /** The paths of endpoints to read again. */
  refresh?: string[]
  /** Told to the member when it is done. */
  done?: string
  onDone?: (result: Result) => void
}

/** A change that a member makes. */
export function useAction<Result, Input = void>(action: Action<Input, Result>) {
  // The mutation takes its options in an effect, after the paint. Enter before that would send what the form held
  // before the last key.
  const latest = useRef(action)
  latest.current = action
  return useMutation<Result, Error, Input>({
    mutationFn: (input) => latest.current.run(input),
    onSuccess: (result) => {
      const { refresh = [], done, onDone } = latest.current
      for (const path of refresh) void client.invalidateQueries({ queryKey: keyOf(path) })
      if (done) announce(done)
      onDone?.(result)
    },
  })
}
