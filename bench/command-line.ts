export function wholeNumber(option: string, text: string): number {
  if (!/^\d{1,8}$/.test(text) || Number(text) < 1) throw new Error(`--${option} is a number from 1`)
  return Number(text)
}

/** The tables go to stdout, the progress to stderr. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

export function print(...paragraphs: string[]): void {
  process.stdout.write(`\n${paragraphs.join('\n')}\n`)
}
