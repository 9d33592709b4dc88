// Runs before everything else, on whatever Node (20 or newer) the machine has and with nothing installed: brings in what is
// missing, then gives way. No dependencies, so it can run first.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const purpose = process.argv[2] ?? 'start'
const root = join(dirname(fileURLToPath(import.meta.url)), '..')

if (Number(process.versions.node.split('.')[0]) < 20) {
  fail(
    `Node ${process.versions.node} is too old to begin with. Install Node 20 or newer; Manilla brings its own Node 24.`,
  )
}
if (!isInstalled()) {
  oneAtATime(install)
  if (!isInstalled()) fail('npm installed the packages, but not all of them: remove node_modules and try again.')
}
if (purpose === 'test') findBrowser()

/** Whether what is on disk is what the lockfile says. npm keeps its own record of what it installed. */
function isInstalled() {
  const read = (path) => {
    try {
      return JSON.parse(readFileSync(join(root, path), 'utf8')).packages
    } catch {
      return undefined
    }
  }
  const wanted = read('package-lock.json')
  const installed = read('node_modules/.package-lock.json')
  if (!wanted || !installed || !existsSync(join(root, 'node_modules/.bin/node'))) return false
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === '' || (installed[path] ? installed[path].version === version : optional),
  )
}

/** Two commands in one clone, both the first: npm would pull the packages from under each other. The second waits, and finds them there. */
function oneAtATime(work) {
  const turn = join(root, '.installing')
  const owner = join(turn, 'pid')
  for (;;) {
    try {
      mkdirSync(turn)
      break
    } catch (error) {
      if (error.code !== 'EEXIST') return work() // npm will say what is wrong with this folder
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    if (isDead(owner)) rmSync(turn, { recursive: true, force: true })
  }
  try {
    writeFileSync(owner, String(process.pid))
    if (!isInstalled()) work()
  } finally {
    rmSync(turn, { recursive: true, force: true })
  }
}

/** Whoever died in the middle holds nobody up. (Between taking a turn and signing for it pass milliseconds, not seconds.) */
function isDead(owner) {
  try {
    process.kill(Number(readFileSync(owner, 'utf8')), 0)
    return false
  } catch (error) {
    if (error.code !== 'ENOENT') return error.code === 'ESRCH'
    const turn = statSync(dirname(owner), { throwIfNoEntry: false })
    return turn !== undefined && Date.now() - turn.mtimeMs > 10_000
  }
}

function install() {
  process.stderr.write('Installing what Manilla needs (once, about half a minute) …\n')
  const { status } = spawnSync('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0)
    fail('npm could not install the packages; what it said is above. Check the network and the disk, then try again.')
}

/** Browser tests need a Chromium: CHROMIUM_PATH, the system's, the package manager's, else Playwright's own download. */
function findBrowser() {
  const { CHROMIUM_PATH } = process.env
  if (CHROMIUM_PATH) {
    if (!existsSync(CHROMIUM_PATH)) fail(`CHROMIUM_PATH is ${CHROMIUM_PATH}, and there is nothing there.`)
    return
  }
  if (['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'].some(onPath)) return
  if (existsSync('/Applications/Google Chrome.app')) return
  process.stderr.write('Installing a browser for the tests (once) …\n')
  if (process.getuid?.() === 0 && onPath('apt-get')) {
    spawnSync(
      'sh',
      [
        '-c',
        'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium',
      ],
      { stdio: ['ignore', 2, 2] },
    )
    if (onPath('chromium')) return
  }
  const { status } = spawnSync(
    join(root, 'node_modules/.bin/node'),
    [join(root, 'node_modules/playwright-core/cli.js'), 'install', 'chromium'],
    { stdio: ['ignore', 2, 2] },
  )
  if (status !== 0) fail('No browser could be installed. Install Chromium, or set CHROMIUM_PATH to one.')
}

function onPath(command) {
  return spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
}

function fail(why) {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}
