// `npm pack` runs this: each module of src as ESM and as CommonJS, with its types, in dist. The compiler is a
// development package of this folder; esbuild is a production package of the service.
import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { transformSync } from 'esbuild'

const folder = import.meta.dirname
const source = join(folder, 'src')
const dist = join(folder, 'dist')
rmSync(dist, { recursive: true, force: true })
mkdirSync(dist)

const tsc = join(folder, 'node_modules/.bin/tsc')
execFileSync(tsc, ['-p', join(folder, 'tsconfig.build.json')], { stdio: 'inherit' })
for (const file of globSync('*.ts', { cwd: source })) {
  const name = basename(file, '.ts')
  const text = readFileSync(join(source, file), 'utf8')
  const declarations = readFileSync(join(dist, `${name}.d.ts`), 'utf8')
  for (const [format, extension, types] of [
    ['esm', '.js', '.d.ts'],
    ['cjs', '.cjs', '.d.cts'],
  ] as const) {
    const { code } = transformSync(text, { loader: 'ts', format, target: 'es2022', sourcefile: file })
    writeFileSync(join(dist, name + extension), withExtension(code, extension))
    writeFileSync(join(dist, name + types), withExtension(declarations, extension))
  }
}

/** Imports of our own modules name the file of the same format. */
function withExtension(text: string, extension: string): string {
  return text.replaceAll(/(["'])(\.\/[\w-]+)\.ts\1/g, `$1$2${extension}$1`)
}
