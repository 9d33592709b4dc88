import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { CANNOT_RUN } from '../tools.ts'

/** Set in the process that runs inside the namespaces. */
const INSIDE = 'MANILLA_FAILOVER_INSIDE'

/**
 * Runs this program again in network, mount and process namespaces of its own, and ends with its exit code. Nothing of
 * the machine's network changes, and everything that was started ends with it. `sh` is process 1 there, because it
 * reaps orphans.
 */
export function enterNamespaces(): void {
  if (process.env[INSIDE]) return
  if (process.getuid?.() !== 0) {
    process.stderr.write('Run it as root: it makes network namespaces. It changes nothing outside of them.\n')
    process.exit(CANNOT_RUN)
  }
  const isolated = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const again = ['sh', '-c', '"$@"; exit $?', 'sh', process.execPath, ...process.argv.slice(1)]
  const { status } = spawnSync('unshare', [...isolated, ...again], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: '1' },
  })
  process.exit(status ?? 1)
}

/** A bridge with one namespace per node: `pg1` has 10.0.0.1, and so on. This process has 10.0.0.254. */
export function layNetwork(nodes: string[]): void {
  ip('link set lo up')
  mkdirSync('/run/netns', { recursive: true })
  run('mount', ['-t', 'tmpfs', 'namespaces', '/run/netns'])
  ip('link add bridge type bridge')
  ip('addr add 10.0.0.254/24 dev bridge')
  ip('link set bridge up')
  for (const [index, name] of nodes.entries()) {
    ip(`netns add ${name}`)
    ip(`link add ${name} type veth peer name eth0 netns ${name}`)
    ip(`link set ${name} master bridge up`)
    ip(`-n ${name} addr add 10.0.0.${index + 1}/24 dev eth0`)
    ip(`-n ${name} link set eth0 up`)
    ip(`-n ${name} link set lo up`)
  }
}

/** Cuts a node off from the others and from Manilla, or connects it again. */
export function connectNode(name: string, isConnected: boolean): void {
  ip(`link set ${name} ${isConnected ? 'up' : 'down'}`)
}

/** Ids of all processes on a node. */
export function processesOn(name: string): number[] {
  return ip(`netns pids ${name}`).split('\n').filter(Boolean).map(Number)
}

function ip(words: string): string {
  return run('ip', words.split(' '))
}

function run(program: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
  return stdout
}
