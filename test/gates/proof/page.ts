import { PROOFS, type Proof } from './list.ts'
import { doneOf, figuresOf, type Run, runsOf } from './state.ts'

export interface Circumstances {
  commit: string
  machine: string
  size: 'release' | 'quick'
}

/** docs/proof.md. `runs`: those of one commit. */
export function pageOf(runs: Run[], { commit, machine, size }: Circumstances): string {
  const times = runs.map(({ startedAt }) => startedAt.slice(0, 16).replace('T', ' ')).sort()
  const goalOf = (proof: Proof) => `${spaced(proof[size])} ${proof.counts}`
  return [
    '# Proof',
    '',
    '<!-- Written by `npm run proof`. -->',
    '',
    'Each gate runs the real program under faults, at the size of a release. Then it compares the records of clients and',
    'providers with the database. This page has the runs of one commit; `npm run proof` continues them, and writes it.',
    '',
    `- Commit: ${commit}, the last one that changed the program.`,
    `- Runs started: ${times.length === 0 ? 'none' : `${times[0]} to ${times.at(-1)} UTC`}.`,
    `- Machine: ${machine}.`,
    '',
    '| proof | goal | clean | runs | failed | interrupted |',
    '|---|---|--:|--:|--:|--:|',
    ...PROOFS.map((proof) => {
      const all = runsOf(runs, proof).filter(({ result }) => result?.status !== 'cannot run')
      const interrupted = all.filter(({ result }) => !result).length
      const failed = runsOf(runs, proof, 'failed').length
      const done = spaced(doneOf(runs, proof))
      return `| [${proof.name}](#${proof.name}) | ${goalOf(proof)} | ${done} | ${all.length} | ${failed} | ${interrupted} |`
    }),
    '',
    '## What has no clean run yet',
    '',
    ...listed(PROOFS.flatMap((proof) => missing(runs, proof, size))),
    ...PROOFS.flatMap((proof) => section(runs, proof)),
    '',
  ].join('\n')
}

function missing(runs: Run[], proof: Proof, size: Circumstances['size']): string[] {
  const left = proof[size] - doneOf(runs, proof)
  if (left <= 0) return []
  const why = runsOf(runs, proof, 'cannot run').at(-1)?.result?.note
  return [`${spaced(left)} of ${spaced(proof[size])} ${proof.counts} (${proof.name})${why ? `: ${why}` : ''}`]
}

function section(runs: Run[], proof: Proof): string[] {
  const clean = runsOf(runs, proof, 'clean')
  const failed = runsOf(runs, proof, 'failed')
  const seconds = clean.reduce((sum, { result }) => sum + (result?.seconds ?? 0), 0)
  return [
    '',
    `## ${proof.name}`,
    '',
    ...wrapped(`${proof.shows} ${clean.length === 0 ? 'No clean run yet.' : `Took ${spaced(seconds)} s.`}`),
    ...(clean.length === 0
      ? []
      : ['', '```sh', clean.at(-1)?.command as string, '```', '', '| figure | |', '|---|--:|']),
    ...Object.entries(figuresOf(runs, proof)).map(([name, value]) => `| ${name} | ${spaced(value)} |`),
    ...(failed.length === 0 ? [] : ['', '**Failed:**', '']),
    ...listed(failed.map(({ command, result }) => `\`${command}\`: ${result?.note}`)),
  ]
}

const spaced = (value: number) => String(value).replaceAll(/\B(?=(\d{3})+$)/g, ' ')
const listed = (lines: string[]) => lines.flatMap((line) => wrapped(`- ${line}`, '  '))

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
