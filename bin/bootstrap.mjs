// Runs first, on the Node of the machine (20 or newer), and installs what is missing. It has no dependencies.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const purpose = process.argv[2] ?? 'start'
const root = join(dirname(fileURLToPath(import.meta.url)), '..')

if (Number(process.versions.node.split('.')[0]) < 20) {
  fail(`Node ${process.versions.node} is too old. Install Node 20 or newer; Manilla brings its own Node 24.`)
}
if (!isInstalled()) {
  withInstallLock(install)
  if (!isInstalled()) fail('npm installed the packages, but not all of them: remove node_modules and try again.')
}
if (purpose === 'test') findBrowser()

/** Compares the lockfile with npm's own record of what it installed. */
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

/** Locks the clone: two installs at once would remove each other's packages. The second command waits for the first. */
function withInstallLock(work) {
  const lock = join(root, '.installing')
  const owner = join(lock, 'pid')
  for (;;) {
    try {
      mkdirSync(lock)
      break
    } catch (error) {
      if (error.code !== 'EEXIST') return work() // npm reports what is wrong with this folder
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    if (isDead(owner)) rmSync(lock, { recursive: true, force: true })
  }
  try {
    writeFileSync(owner, String(process.pid))
    if (!isInstalled()) work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

/** Whether the owner of the lock has died. A lock without a pid for 10 s counts: the pid is written within milliseconds. */
function isDead(owner) {
  try {
    process.kill(Number(readFileSync(owner, 'utf8')), 0)
    return false
  } catch (error) {
    if (error.code !== 'ENOENT') return error.code === 'ESRCH'
    const lock = statSync(dirname(owner), { throwIfNoEntry: false })
    return lock !== undefined && Date.now() - lock.mtimeMs > 10_000
  }
}

function install() {
  process.stderr.write('Installing what Manilla needs (once, about half a minute) …\n')
  const { status } = spawnSync('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (status !== 0)
    fail('npm could not install the packages; its error is above. Check the network and the disk, then try again.')
}

/** Browser tests need a Chromium: CHROMIUM_PATH, the system's, the package manager's, else Playwright's own download. */
function findBrowser() {
  const { CHROMIUM_PATH } = process.env
  if (CHROMIUM_PATH) {
    if (!existsSync(CHROMIUM_PATH)) fail(`CHROMIUM_PATH is ${CHROMIUM_PATH}, and there is no file.`)
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
