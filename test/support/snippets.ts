import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { eventually } from './paying.ts'

export const ROOT = join(import.meta.dirname, '../..')

export const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

export function run(script: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('sh', ['-euc', script], { env: { PATH: process.env.PATH, ...env } }, (error, out) =>
      error ? reject(error) : resolve(out),
    )
  })
}

/** `@manilla/client` in the docs is the library of this repository. */
export const CLIENT = {
  '@manilla/client': join(ROOT, 'clients/typescript/src/index.ts'),
  '@manilla/client/webhooks': join(ROOT, 'clients/typescript/src/webhooks.ts'),
}

export const withClient = (program: string) =>
  Object.entries(CLIENT).reduce(
    (text, [name, file]) => text.replaceAll(`'${name}'`, `'${pathToFileURL(file)}'`),
    program,
  )

export const runTypeScript = async (program: string, env: Record<string, string>) => {
  const args = ['--input-type=module-typescript', '--eval', withClient(program)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { PATH: process.env.PATH, ...env } })
  return stdout
}

export const blocksOf = (page: string, language: string) =>
  [
    ...read(page).matchAll(
      new RegExp(
        `<!-- run by test/processes/snippets(?:-webhooks|-channels|-languages|-mails)?\\.test\\.ts -->\\n\`\`\`${language}\\n([\\s\\S]*?)\`\`\``,
        'g',
      ),
    ),
  ].map((match) => match[1] as string)

export const hasPython = spawnSync('python3', ['--version']).status === 0

/** Runs a program of the docs on a free port. */
export async function startHandler(
  { language, program }: { language: string; program: string },
  env: Record<string, string>,
): Promise<{ url: string; output(): string }> {
  const port = await freePort()
  assert.ok(program.includes('8080'))
  const text = program.replaceAll('8080', String(port))
  const [command, args] =
    language === 'python'
      ? ['python3', ['-c', text]]
      : [
          process.execPath,
          [`--input-type=${language === 'ts' ? 'module-typescript' : 'module'}`, '--eval', withClient(text)],
        ]
  const child = spawn(command, args, { cwd: ROOT, env: { PATH: process.env.PATH, ...env } })
  after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const url = `http://127.0.0.1:${port}/webhooks`
  const answers = () =>
    fetch(url, { method: 'POST' }).then(
      ({ status }) => status,
      () => output,
    )
  await eventually(answers, (answer) => answer === 401)
  return { url, output: () => output }
}
