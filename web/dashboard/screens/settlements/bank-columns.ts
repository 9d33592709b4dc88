const HEADER_WITHIN = 50
const MARKS = [',', ';', '\t']

/** The names of the columns of a CSV file: the first of its widest lines. Banks write their name and yours above it. */
export function columnsOf(text: string): string[] {
  const lines = text.split(/\r?\n/, HEADER_WITHIN)
  const mark = longest(MARKS, (each) => Math.max(...lines.map((line) => line.split(each).length)))
  const rows = lines.map((line) => cellsOf(line, mark ?? ',').filter(Boolean))
  return longest(rows, ({ length }) => length) ?? []
}

/** The first of the longest. */
function longest<Each>(all: Each[], lengthOf: (each: Each) => number): Each | undefined {
  const most = Math.max(...all.map(lengthOf))
  return all.find((each) => lengthOf(each) === most)
}

function cellsOf(line: string, mark: string): string[] {
  const cell = new RegExp(`(?:^|${mark})(?:"((?:[^"]|"")*)"|([^${mark}]*))`, 'g')
  return [...line.matchAll(cell)].map(([, quoted, bare]) => (quoted ?? bare ?? '').replaceAll('""', '"').trim())
}

/** The column of the last file, if this one has it; else one whose name says so. */
export function choose(names: string[], last: string | undefined, ...likely: RegExp[]): string {
  const same = names.find((name) => name.toLowerCase() === last?.trim().toLowerCase())
  const guessed = likely.map((pattern) => names.find((name) => pattern.test(name))).find(Boolean)
  return same ?? guessed ?? ''
}

/** Excel and some banks write UTF-16. */
export async function textOf(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  return new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8').decode(bytes)
}
