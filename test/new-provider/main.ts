// `npm run new-provider -- --name acme --title "Acme Pay"`: writes the skeleton of a provider.
// CONTRIBUTING.md describes what to fill in.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '../..')
const TEMPLATES = join(import.meta.dirname, 'templates')
const REGISTRY = join(ROOT, 'src/providers/registry.ts')

const { values } = parseArgs({ options: { name: { type: 'string' }, title: { type: 'string' } } })
process.exitCode = run(values.name ?? '', values.title)

/** `title`: the name as people write it. Absent: made from the other one. */
function run(name: string, title?: string): number {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
    process.stderr.write(
      'Usage: npm run new-provider -- --name NAME (lowercase letters, digits and hyphens) [--title TITLE]\n',
    )
    return 2
  }
  const folder = `src/providers/${name}`
  if (existsSync(join(ROOT, folder))) {
    process.stderr.write(`${folder} exists already.\n`)
    return 1
  }
  const words = name.split('-').map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
  const type = words.join('')
  const id = `${type[0]?.toLowerCase()}${type.slice(1)}`
  const values: Record<string, string> = { name, Title: title ?? words.join(' '), Type: type, id }
  const write = (template: string, path: string) => {
    const text = readFileSync(join(TEMPLATES, `${template}.txt`), 'utf8')
    mkdirSync(dirname(join(ROOT, path)), { recursive: true })
    writeFileSync(
      join(ROOT, path),
      text.replaceAll(/\{\{(\w+)\}\}/g, (_, key) => values[key] ?? key),
    )
    process.stdout.write(`wrote ${path}\n`)
  }
  for (const file of [
    'adapter.ts',
    'capabilities.ts',
    'wire.ts',
    'mapping.ts',
    'notices.ts',
    'adapter.test.ts',
    'README.md',
  ]) {
    write(file, `${folder}/${file}`)
  }
  write('fake.ts', `test/fakes/${name}/fake.ts`)
  write('docs.md', `docs/providers/${name}.md`)
  register(name, id)
  process.stdout.write('Next: CONTRIBUTING.md, "Add a provider"; then npm run format and npm run readme.\n')
  return 0
}

function register(name: string, id: string): void {
  const text = readFileSync(REGISTRY, 'utf8')
  const line = `import { ${id} } from './${name}/adapter.ts'\n`
  const imported = text.replace(/(?=^import type \{ Provider \})/m, line)
  writeFileSync(
    REGISTRY,
    imported.replace(/(PROVIDERS: readonly Provider\[\] = \[[^\]]*)\]/, (_, list) => `${list}, ${id}]`),
  )
  process.stdout.write('added one line to src/providers/registry.ts\n')
}
