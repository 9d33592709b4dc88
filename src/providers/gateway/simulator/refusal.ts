/** What the provider says no with: `{error: {code, message}}` under an HTTP status of its own. */
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
