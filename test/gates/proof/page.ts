import { PROOFS, type Proof } from './list.ts'
import { doneOf, figuresOf, type Run, runsOf } from './state.ts'

export interface Circumstances {
  commit: string
  machine: string
  size: 'release' | 'quick'
}

/** docs/proof.md: what ran clean. A proof with a failed run shows none of its others. `runs`: those of one commit. */
export function pageOf(runs: Run[], { commit, machine, size }: Circumstances): string {
  const proved = PROOFS.filter((proof) => doneOf(runs, proof) > 0 && !hasFailed(runs, proof))
  const times = proved.flatMap((proof) => runsOf(runs, proof, 'clean').map(({ startedAt }) => dateOf(startedAt))).sort()
  return [
    '# Proof',
    '',
    '<!-- Written by `npm run gate -- proof`. -->',
    '',
    ...wrapped(
      'A proof runs the real program for hours while processes are killed, providers fail and requests are broken. Then it compares the records of clients and providers with the database. This page has the runs of the newest code that ended clean, and nothing else.',
    ),
    '',
    '```sh',
    'npm run gate -- proof                # all of them, until each has its release size',
    'npm run gate -- proof --only crash   # one of them',
    '```',
    '',
    ...wrapped(
      'You can stop it at any time: it continues with the next call, and writes this page after each run. After a change of the program it begins again. A proof with a failed run counts none of its clean ones; `.proof/` has the output of each run. A proof calls its gate again and again, with another seed each time.',
    ),
    '',
    '| proof | its gate | release size | ran clean |',
    '|---|---|---|---|',
    ...PROOFS.map((proof) => {
      const goal = `${spaced(proof[size])} ${proof.counts}`
      return `| \`${proof.name}\` | \`npm run gate -- ${proof.gate}\` | ${goal} | ${doneSoFar(runs, proof)} |`
    }),
    '',
    ...(proved.length === 0
      ? ['No proof has run at release size since the last change of the program.']
      : [
          `- Commit: ${commit}. If \`git log -1 --format=%h -- src migrations web package-lock.json\` names another one,`,
          '  the program has changed since.',
          `- Runs started: ${times[0]} to ${times.at(-1)}.`,
          `- Machine: ${machine}.`,
        ]),
    '',
    '## What each one shows',
    '',
    ...PROOFS.flatMap((proof) => wrapped(`- \`${proof.name}\`: ${proof.shows}`, '  ')),
    ...proved.flatMap((proof) => section(runs, proof)),
    '',
  ].join('\n')
}

const hasFailed = (runs: Run[], proof: Proof) => runsOf(runs, proof, 'failed').length > 0

function doneSoFar(runs: Run[], proof: Proof): string {
  if (hasFailed(runs, proof)) return 'a run failed'
  const done = doneOf(runs, proof)
  return done === 0 ? 'not run yet' : spaced(done)
}

function section(runs: Run[], proof: Proof): string[] {
  const clean = runsOf(runs, proof, 'clean')
  const seconds = clean.reduce((sum, { result }) => sum + (result?.seconds ?? 0), 0)
  return [
    '',
    `## ${proof.name}`,
    '',
    `${clean.length === 1 ? 'One clean run' : `${clean.length} clean runs`} in ${spaced(seconds)} s. The last one:`,
    '',
    '```sh',
    clean.at(-1)?.command as string,
    '```',
    '',
    '| figure | |',
    '|---|--:|',
    ...Object.entries(figuresOf(runs, proof)).map(([name, value]) => `| ${name} | ${spaced(value)} |`),
  ]
}

const dateOf = (startedAt: string) => startedAt.slice(0, 10)
const spaced = (value: number) => String(value).replaceAll(/\B(?=(\d{3})+$)/g, ' ')

const WIDTH = 118

function wrapped(text: string, indent = ''): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && `${last} ${word}`.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(last === undefined ? word : indent + word)
  }
  return lines
}
