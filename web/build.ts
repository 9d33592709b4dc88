import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'

/** Scripts and styles for browsers, each as one minified text. */
export interface Assets {
  checkoutScript: string
  checkoutStyle: string
  /** The widget for a `<script>` tag, and the same as a module. */
  widgetScript: string
  widgetModule: string
  /** TypeScript declarations of the widget. */
  widgetTypes: string
  demoScript: string
  demoStyle: string
  guidesScript: string
  guidesStyle: string
  dashboard: DashboardAssets
}

/** The dashboard: a module that loads each screen when it is opened. File names contain a hash of the content. */
export interface DashboardAssets {
  script: string
  style: string
  /** Text by file name. */
  files: Record<string, string>
  /** What a script imports: before it runs, and on demand. */
  imports: Record<string, { atOnce: string[]; onDemand: string[] }>
}

/**
 * Version of the widget. Shops pin it by hash, so every change of the script raises it, and older versions stay
 * available.
 */
export const WIDGET_VERSION = '1.0.0'

const TYPES = 'widget/types.d.ts'
const ENTRIES: Record<Exclude<keyof Assets, 'widgetTypes' | 'dashboard'>, { file: string; format?: 'iife' | 'esm' }> = {
  checkoutScript: { file: 'checkout/page.ts', format: 'iife' },
  checkoutStyle: { file: 'checkout/style.css' },
  widgetScript: { file: 'widget/v1.ts', format: 'iife' },
  widgetModule: { file: 'widget/module.ts', format: 'esm' },
  demoScript: { file: 'demo/shop.ts', format: 'iife' },
  demoStyle: { file: 'demo/style.css' },
  guidesScript: { file: 'guides/script.ts', format: 'esm' },
  guidesStyle: { file: 'guides/style.css' },
}
const FOLDERS = ['checkout', 'widget', 'demo', 'guides', 'dashboard']
const LOCKFILE = join(import.meta.dirname, '../package-lock.json')
// Supports old phones.
const TARGET = ['chrome100', 'safari15.4', 'firefox100']
const CACHE = join(import.meta.dirname, '../node_modules/.cache/manilla')

/** Cached on disk by a hash of the sources, so that a restart does not compile. */
export async function buildAssets(): Promise<Assets> {
  const kept = join(CACHE, `web-${await digestOfSources()}.json`)
  const known = await readFile(kept, 'utf8').catch(() => undefined)
  if (known) return JSON.parse(known)
  const assets = await compile()
  await keep(kept, JSON.stringify(assets)).catch(() => {}) // a read-only folder only costs time
  return assets
}

async function digestOfSources(): Promise<string> {
  const { version } = createRequire(import.meta.url)('esbuild/package.json') as { version: string }
  const hash = createHash('sha256').update(version).update(TARGET.join())
  hash.update(await readFile(import.meta.filename)).update(await readFile(LOCKFILE))
  for (const folder of FOLDERS.map((name) => join(import.meta.dirname, name))) {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
    for (const file of files.sort()) hash.update(file.slice(folder.length)).update(await readFile(file))
  }
  return hash.digest('hex').slice(0, 16)
}

async function compile(): Promise<Assets> {
  const { build } = await import('esbuild')
  const compiled = Object.entries(ENTRIES).map(async ([name, { file, format }]) => {
    const { outputFiles } = await build({
      entryPoints: [join(import.meta.dirname, file)],
      bundle: true,
      minify: true,
      write: false,
      target: TARGET,
      charset: 'utf8',
      logLevel: 'silent',
      ...(format && { format }),
    })
    return [name, outputFiles[0]?.text.trim()]
  })
  const widgetTypes = await readFile(join(import.meta.dirname, TYPES), 'utf8')
  const [dashboard, ...others] = await Promise.all([compileDashboard(), ...compiled])
  return { ...Object.fromEntries(others), widgetTypes, dashboard }
}

async function compileDashboard(): Promise<DashboardAssets> {
  const { build } = await import('esbuild')
  const folder = join(import.meta.dirname, 'dashboard')
  const { outputFiles, metafile } = await build({
    entryPoints: [join(folder, 'main.tsx'), join(folder, 'style.css')],
    outdir: folder,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    minify: true,
    write: false,
    metafile: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    target: TARGET,
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
  })
  const outputs = Object.entries(metafile.outputs).map(([path, output]) => ({ name: basename(path), ...output }))
  const entry = (source: string) => outputs.find(({ entryPoint }) => entryPoint?.endsWith(source))?.name ?? ''
  const importsOf = ({ imports }: (typeof outputs)[number]) => {
    const of = (wanted: string) => imports.filter(({ kind }) => kind === wanted).map(({ path }) => basename(path))
    return { atOnce: of('import-statement'), onDemand: of('dynamic-import') }
  }
  return {
    script: entry('dashboard/main.tsx'),
    style: entry('dashboard/style.css'),
    files: Object.fromEntries(outputFiles.map(({ path, text }) => [basename(path), text])),
    imports: Object.fromEntries(outputs.map((output) => [output.name, importsOf(output)])),
  }
}

/** Renames the file into place, so that another process never reads half of it. */
async function keep(path: string, text: string): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const fresh = `${path}.${process.pid}`
  await writeFile(fresh, text)
  await rename(fresh, path)
}
