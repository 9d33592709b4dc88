import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'

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
}

/**
 * Version of the widget. Shops pin it by hash, so every change of the script raises it, and older versions stay
 * available.
 */
export const WIDGET_VERSION = '1.0.0'

const TYPES = 'widget/types.d.ts'
const ENTRIES: Record<Exclude<keyof Assets, 'widgetTypes'>, { file: string; format?: 'iife' | 'esm' }> = {
  checkoutScript: { file: 'checkout/page.ts', format: 'iife' },
  checkoutStyle: { file: 'checkout/style.css' },
  widgetScript: { file: 'widget/v1.ts', format: 'iife' },
  widgetModule: { file: 'widget/module.ts', format: 'esm' },
  demoScript: { file: 'demo/shop.ts', format: 'iife' },
  demoStyle: { file: 'demo/style.css' },
}
const FOLDERS = ['checkout', 'widget', 'demo']
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
  for (const folder of FOLDERS.map((name) => join(import.meta.dirname, name))) {
    for (const file of (await readdir(folder)).sort()) hash.update(file).update(await readFile(join(folder, file)))
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
  return { ...Object.fromEntries(await Promise.all(compiled)), widgetTypes }
}

/** Renames the file into place, so that another process never reads half of it. */
async function keep(path: string, text: string): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const fresh = `${path}.${process.pid}`
  await writeFile(fresh, text)
  await rename(fresh, path)
}
