import type { Handle, Options, Widget } from './widget-types.ts'

export type * from './widget-types.ts'

const loading = new Map<string, Promise<Widget>>()

/** Loads the widget from your Manilla, once per page. */
export function loadWidget(baseUrl: string): Promise<Widget> {
  const src = `${baseUrl.replace(/\/+$/, '')}/widget/v1.js`
  const known = loading.get(src)
  if (known) return known
  const widget = new Promise<Widget>((resolve, reject) => {
    const script = document.createElement('script')
    script.src = src
    script.onload = () => resolve(globalThis.Pay)
    script.onerror = () => {
      loading.delete(src) // the next click tries again
      script.remove()
      reject(new Error(`${src} did not load.`))
    }
    document.head.append(script)
  })
  loading.set(src, widget)
  return widget
}

/** Loads the widget and opens a payment. A widget that does not load is reported to `onError`. */
export async function openPayment(baseUrl: string, options: Options): Promise<Handle | undefined> {
  try {
    return (await loadWidget(baseUrl)).open(options)
  } catch (error) {
    const { reference } = options
    options.onError?.({ reference, status: 'pending', code: 'unknown', message: (error as Error).message })
    return undefined
  }
}

/** Connects ahead of time. */
export function preloadWidget(baseUrl: string): void {
  loadWidget(baseUrl).then(
    ({ preload }) => preload(),
    () => {},
  )
}
