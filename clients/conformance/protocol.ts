/** What a driver reads, one in each line. `$NaN` in `args` is the number that JSON does not have. */
export type Command =
  | { do: 'open'; options: Record<string, unknown> }
  | { do: 'call' | 'page' | 'all' | 'csv'; call: string; args: unknown[]; options?: Options }
  | ({ do: 'verify' } & Signed)

export interface Options {
  timeoutMs?: number
  deadlineMs?: number
  maxRetries?: number
  idempotencyKey?: string
  /** The driver cancels the call after this time. */
  cancelAfterMs?: number
}

export interface Signed {
  /** Not a string: the driver gives it to the client as it is. */
  body: unknown
  headers: Record<string, string | string[]>
  secret: string | string[] | null
  /** In seconds since 1970. */
  now: number
  toleranceSeconds?: number
}

/** What a driver writes, one line for each command. */
export interface Reply {
  answer?: unknown
  error?: Failure
}

export interface Failure {
  /** `client`: a mistake of the caller, found before anything was sent. */
  kind: 'api' | 'connection' | 'webhook' | 'cancelled' | 'client'
  message: string
  /** The error and the client in every form in which the language prints them. */
  dump: string
  [field: string]: unknown
}
