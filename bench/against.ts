import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** An older version of the service, checked out in a folder of its own. */
export interface Version {
  /** The short hash of its commit. */
  name: string
  root: string
  remove(): Promise<void>
}

const ROOT = join(import.meta.dirname, '..')

/** It uses our packages where its lock file is the same, and gets its own otherwise. */
export async function checkOut(commit: string): Promise<Version> {
  const name = git('rev-parse', '--short', '--verify', `${commit}^{commit}`).toString().trim()
  const root = await mkdtemp(join(tmpdir(), `manilla-bench-${name}-`))
  const remove = () => rm(root, { recursive: true, force: true })
  try {
    execFileSync('tar', ['-x'], { cwd: root, input: git('archive', name) })
    const [theirs, ours] = await Promise.all(
      [root, ROOT].map((folder) => readFile(join(folder, 'package-lock.json'), 'utf8')),
    )
    if (theirs === ours) await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
    else {
      const flags = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
      execFileSync('npm', ['ci', ...flags], { cwd: root, stdio: ['ignore', 2, 2] })
    }
  } catch (error) {
    await remove()
    throw error
  }
  return { name, root, remove }
}

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, maxBuffer: 2 ** 28 })
