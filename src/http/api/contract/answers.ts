import { ProblemAnswer } from './problem.ts'
import { ref } from './schema.ts'

const DESCRIPTIONS: Record<number, string> = {
  400: 'The request has mistakes; `errors` lists all of them.',
  401: 'The credentials are not valid.',
  403: 'The merchant is suspended.',
  404: 'There is no such thing, or it is not yours.',
  409: 'It clashes with what is already there.',
  413: 'The body is larger than 64 KiB.',
  415: 'The body is not JSON.',
  422: 'Well formed, but it cannot be done.',
  429: 'Too many requests; `Retry-After` says when to come back.',
  502: 'The provider refused, or cannot be reached; nothing was charged.',
  504: 'The provider did not answer: whether it was started is not known yet. We keep asking.',
  503: 'Not right now; `Retry-After` says when to come back.',
}

/** The refusals that a call may answer with, for its description. */
export function answers(...statuses: number[]) {
  const entries = statuses.map((status) => [
    status,
    {
      description: DESCRIPTIONS[status],
      content: { 'application/problem+json': { schema: ref(ProblemAnswer) } },
    },
  ])
  return Object.fromEntries(entries) as Record<number, unknown>
}
