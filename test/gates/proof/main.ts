// `npm run gate -- proof`: the gates at release size, one portion after the other, and docs/proof.md with the results.
// Stop it at any time: it continues with the next call, as long as the program does not change. .proof/ has its state
// and the output of each run.
// --only crash for one proof; --minutes 30: no run begins after that; --quick: one small run of each, with a page in
// .proof/ instead.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { newSeed } from '../random.ts'
import { CANNOT_RUN } from '../tools.ts'
import { PROOFS, type Proof } from './list.ts'
import { pageOf } from './page.ts'
import { doneOf, type Run, runsOf, State } from './state.ts'

const ROOT = join(import.meta.dirname, '../../..')
/** A change of these is a change of the program. */
const PROGRAM = ['src', 'migrations', 'web', 'package-lock.json']

const { values } = parseArgs({
  options: { only: { type: 'string' }, minutes: { type: 'string' }, quick: { type: 'boolean' } },
})
const size = values.quick ? 'quick' : 'release'
const chosen = PROOFS.filter(({ name }) => values.only === undefined || name === values.only)
if (chosen.length === 0) fail(`--only must be one of ${PROOFS.map(({ name }) => name).join(', ')}`)
const deadline = performance.now() + Number(values.minutes ?? 'Infinity') * 60_000
if (git('status', '--porcelain', '--', ...PROGRAM) !== '') fail('Commit the changes of the program first.')
const commit = git('log', '-1', '--format=%h', '--', ...PROGRAM)

const FOLDER = join(ROOT, '.proof')
if (size === 'quick') rmSync(join(FOLDER, 'quick.json'), { force: true })
const state = new State(FOLDER, size)
const ofCommit = () => state.runs.filter((run) => run.commit === commit)
const tried = new Set<Proof>()

for (let proof = next(); proof && performance.now() < deadline; proof = next()) {
  const { status } = (await run(proof)) as NonNullable<Run['result']>
  // A failure stays in the list. The next call tries again, with another seed.
  if (status !== 'clean') tried.add(proof)
  publish()
}
publish()
process.exitCode = ofCommit().some(({ result }) => result?.status === 'failed') ? 1 : 0

/**
 * The one with the smallest share done, so that a short time has something of each. One that fails does not hold the
 * others up.
 */
function next(): Proof | undefined {
  const share = (proof: Proof) => doneOf(ofCommit(), proof) / proof[size]
  const open = chosen.filter((proof) => !tried.has(proof) && share(proof) < 1)
  const runs = (proof: Proof) => runsOf(ofCommit(), proof).length
  return open.sort((a, b) => share(a) - share(b) || runs(a) - runs(b))[0]
}

async function run(proof: Proof): Promise<Run['result']> {
  const amount = Math.min(proof.portion, proof[size] - doneOf(ofCommit(), proof))
  const args = Object.entries({ ...proof.args(amount), seed: newSeed() }).flatMap(([name, value]) => [
    `--${name}`,
    String(value),
  ])
  const one: Run = {
    proof: proof.name,
    commit,
    command: `npm run gate -- ${proof.gate} ${args.join(' ')}`,
    startedAt: new Date().toISOString(),
  }
  state.runs.push(one)
  state.save()
  process.stdout.write(`${one.command}\n`)
  const startedAt = performance.now()
  const log = join(FOLDER, `${size}-${proof.name}-${runsOf(state.runs, proof).length}.log`)
  const figuresFile = join(FOLDER, 'figures.json')
  rmSync(figuresFile, { force: true })
  const code = await runGate(proof.gate, args, log, figuresFile)
  const isClean = code === 0 && existsSync(figuresFile)
  one.result = {
    status: isClean ? 'clean' : code === CANNOT_RUN ? 'cannot run' : 'failed',
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    figures: isClean ? JSON.parse(readFileSync(figuresFile, 'utf8')) : {},
    note: isClean ? '' : noteOf(readFileSync(log, 'utf8')),
  }
  state.save()
  process.stdout.write(`  ${one.result.status}, ${one.result.seconds} s${isClean ? '' : `: ${one.result.note}`}\n`)
  return one.result
}

/** In a process group of its own: when the proof is stopped, all processes of the gate end with it. */
async function runGate(gate: string, args: string[], log: string, figuresFile: string): Promise<number> {
  const output = openSync(log, 'w')
  const child = spawn(process.execPath, [join(ROOT, `test/gates/${gate}/main.ts`), ...args], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', output, output],
    env: { ...process.env, FIGURES_FILE: figuresFile },
  })
  const stop = () => {
    process.kill(-(child.pid as number), 'SIGKILL')
    process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
  const [code] = await once(child, 'exit')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop)
  return code ?? 1
}

/** The first failure or error, else the last line. */
function noteOf(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const failure = lines.find((line) => line.includes('FAILED')) ?? lines.find((line) => /^\w*Error: /.test(line))
  return (failure ?? lines.at(-1) ?? 'no output').trim().slice(0, 300)
}

function publish(): void {
  const embedded = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).optionalDependencies
  const postgres = /^\d+\.\d+/.exec(Object.values<string>(embedded)[0] as string)?.[0]
  const gib = Math.round(totalmem() / 2 ** 30)
  const machine = `${cpus().length} × ${cpus()[0]?.model}, ${gib} GiB, ${type()} ${release()}, Node ${process.versions.node}, PostgreSQL ${postgres}`
  const page = pageOf(ofCommit(), { commit, machine, size })
  writeFileSync(size === 'release' ? join(ROOT, 'docs/proof.md') : join(FOLDER, 'quick.md'), page)
}

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  if (status !== 0) fail(stderr)
  return stdout.trim()
}

function fail(why: string): never {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}
