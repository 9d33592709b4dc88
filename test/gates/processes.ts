import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { DidNotStart, type ServiceProcess, startProcess } from '../support/process.ts'

/** Processes of this machine, read from /proc (Linux only). */

export function residentMiB(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readOf(pid, 'status'))?.[1]
  return Number(kib ?? 0) / 1024
}

const TICK_MS = 10 // of the kernel's clock that /proc counts in

/** CPU time that a process has used so far, its own and the kernel's for it. */
export function cpuMs(pid: number): number {
  const fields = readOf(pid, 'stat').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** Ids of the processes whose command line holds this text. */
export function processesWith(text: string): number[] {
  return allProcesses().filter((pid) => pid !== process.pid && readOf(pid, 'cmdline').includes(text))
}

function childrenOf(parent: number): number[] {
  return allProcesses().filter((pid) => Number(/PPid:\s+(\d+)/.exec(readOf(pid, 'status'))?.[1]) === parent)
}

function allProcesses(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

function readOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return '' // it ended in the meantime
  }
}

export async function untilNone(find: () => number[], withinMs: number): Promise<number[]> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const found = find()
    if (found.length === 0 || performance.now() > deadline) return found
    // There is no exit event for processes that are not our children, so poll.
    await pause(50)
  }
}

const START_WITHIN_MS = 30_000

/** The real program, with its process id before it is ready. */
function startKnown(env: Record<string, string>): { pid: number | undefined; ready: Promise<ServiceProcess> } {
  const before = new Set(childrenOf(process.pid))
  const ready = startProcess(env)
  // It spawns before its first await, so the new process id is that of the service.
  const pid = childrenOf(process.pid).find((child) => !before.has(child))
  return { pid, ready }
}

/** The real program, or an error in bounded time: a gate must end even when the service never gets ready. */
export async function startWithin(env: Record<string, string>, withinMs = START_WITHIN_MS): Promise<ServiceProcess> {
  const { pid, ready } = startKnown(env)
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      ready.catch(() => {}) // it is being ended
      if (pid) process.kill(pid, 'SIGKILL')
      reject(new Error(`the service was not ready after ${withinMs} ms`))
    }, withinMs)
  })
  try {
    return await Promise.race([ready, tooLate])
  } finally {
    clearTimeout(timer)
  }
}

/** "localhost" may have two addresses; the service listens on one. */
export function loopbackOf(baseUrl: string): { host: string; port: number } {
  return { host: '127.0.0.1', port: Number(new URL(baseUrl).port) }
}

/** Runs it beside the real program, which is stopped afterwards as an operator stops it. */
export async function withService<Result>(
  env: Record<string, string>,
  run: (service: ServiceProcess) => Promise<Result>,
): Promise<Result> {
  const service = await startWithin(env)
  try {
    return await run(service)
  } finally {
    service.child.kill('SIGTERM')
    await service.exited
  }
}

/** Ends a process that may have ended by itself. */
export async function endChild(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

export async function endNow({ child, exited }: ServiceProcess): Promise<void> {
  child.kill('SIGKILL')
  await exited
}

/** Starts the real program and kills it at some moment, ready or not. */
export async function killWhileStarting(env: Record<string, string>, moment: () => Promise<unknown>): Promise<void> {
  const { pid, ready } = startKnown(env)
  const ended = ready.then(
    ({ exited }) => exited,
    (error) => {
      if (!(error instanceof DidNotStart)) throw error
    },
  )
  await moment()
  if (pid) process.kill(pid, 'SIGKILL')
  await ended
}
