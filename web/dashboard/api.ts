import type { ProofMethod } from './answers.ts'

export const API = '/dashboard/api'

/** A refusal of the server, or no answer at all (`status` 0). */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** Mistakes by field name; several of one field in lines. */
  readonly fields: Record<string, string>
  readonly methods: ProofMethod[]

  constructor(status: number, problem: Problem) {
    super(forPeople(problem.detail ?? 'The service did not answer. Check your connection.'))
    this.status = status
    this.code = problem.code ?? 'unavailable'
    this.methods = problem.methods ?? []
    this.fields = {}
    for (const { pointer, message } of problem.errors ?? []) {
      const name = pointer.slice(1)
      this.fields[name] = this.fields[name] ? `${this.fields[name]}\n${message}` : message
    }
  }
}

/** Problems of the API name an amount in both ways: 1250000 NGN (₦12,500.00). People read the second one. */
const forPeople = (detail: string) => detail.replaceAll(/\b\d+ [A-Z]{3} \(([^()]+)\)/g, '$1')

/** The member closed the step-up dialog. Nothing was changed and nothing is shown. */
export class Cancelled extends Error {}

interface Problem {
  code?: string
  detail?: string
  errors?: { pointer: string; message: string }[]
  methods?: ProofMethod[]
}

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Reads the `data` of an answer. */
export async function get<Data>(path: string, signal?: AbortSignal): Promise<Data> {
  return (await getPage<{ data: Data }>(path, signal)).data
}

/** Reads a whole answer: a list with its `nextCursor`. */
export function getPage<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return request<Answer>(path, signal ? { signal } : {})
}

/** Asks the member to prove their identity. Set by the step-up dialog; resolves to false when the member cancels. */
let askStepUp: (methods: ProofMethod[]) => Promise<boolean> = async () => false

export function onStepUp(ask: typeof askStepUp): void {
  askStepUp = ask
}

/**
 * Changes something. When the server wants a fresh proof of identity, asks for it and sends the request again.
 * `idempotencyKey`: for what must not happen twice.
 */
export async function send<Data = undefined>(
  method: Method,
  path: string,
  body?: unknown,
  idempotencyKey?: string,
): Promise<Data> {
  const options = {
    method,
    headers: { 'content-type': 'application/json', ...(idempotencyKey && { 'idempotency-key': idempotencyKey }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }
  const once = async () => (await request<{ data: Data } | undefined>(path, options))?.data as Data
  try {
    return await once()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'step_up_required') throw error
    if (!(await askStepUp(error.methods))) throw new Cancelled()
    return once()
  }
}

/** A download, whose body the caller reads. */
export async function openStream(path: string, signal: AbortSignal): Promise<Response> {
  const response = await answerOf(path, { signal })
  if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => ({})))
  return response
}

function answerOf(path: string, options: RequestInit): Promise<Response> {
  return fetch(API + path, options).catch((error) => {
    if (options.signal?.aborted) throw error
    throw new ApiError(0, {})
  })
}

async function request<Answer>(path: string, options: RequestInit): Promise<Answer> {
  const response = await answerOf(path, options)
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  const answer = isJson ? await response.json().catch(() => ({})) : undefined
  if (!response.ok) throw new ApiError(response.status, answer ?? {})
  return answer as Answer
}

/** Not `randomUUID`, which browsers have on https and localhost only. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** `?a=1&b=2` of the values that are set. */
export function query(values: Record<string, string | number | undefined>): string {
  const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  return set.length === 0 ? '' : `?${new URLSearchParams(set.map(([name, value]) => [name, String(value)]))}`
}
