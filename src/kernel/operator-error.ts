/** A failure that the person at the terminal can mend: its message says how, and needs no stack beside it. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}
