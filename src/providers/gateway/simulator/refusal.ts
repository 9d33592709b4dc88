/**
 * An error of the sandbox provider, sent as problem+json (RFC 9457). `code` is the provider's own, not one of our
 * `PROBLEMS`.
 */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.code = code
  }
}

export const invalid = (message: string) => new Refusal(422, 'invalid_request', message)
export const notFound = (message: string) => new Refusal(404, 'not_found', message)

/** The body of the answer. It has the same members as a problem of the merchants' API. */
export function problemOf({ status, code, message }: Refusal, { id, url }: { id: string; url: string }) {
  return {
    type: `urn:manilla:problem:${code}`,
    title: 'The sandbox provider refused the request',
    status,
    detail: message,
    instance: url.split('?', 1)[0],
    code,
    retryable: status >= 500,
    requestId: id,
  }
}
