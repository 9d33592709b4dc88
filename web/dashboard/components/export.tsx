import { useEffect, useRef, useState } from 'preact/hooks'
import { openStream, query } from '../api.ts'
import { useMerchant } from '../session.ts'
import { Dialog } from './dialog.tsx'
import { SelectField } from './form.tsx'
import { ProblemText } from './problem.tsx'

interface Parts {
  list: 'payments' | 'refunds' | 'transfers' | 'deliveries' | 'settlements' | 'settlement-lines'
  /** The text of the button. */
  name?: string
  /** Those of the shown list, as its endpoint takes them. */
  filters: Record<string, string | number | undefined>
  /** The columns of the file that the shown list has; absent: there is no choice. */
  shownColumns?: string[]
}

/** A button and its dialog: all rows of the filters as a CSV file, with progress and cancel. */
export function Export(parts: Parts) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {parts.name ?? 'Export'}
      </button>
      {isOpen && <ExportDialog {...parts} onClose={() => setOpen(false)} />}
    </>
  )
}

/** The file is put together in the memory of the page: not every browser can write to a file. */
const MAX_BYTES = 200_000_000
const COLUMN_CHOICES = [
  ['all', 'All columns'],
  ['shown', 'The columns of the list'],
] as const

type State =
  | { is: 'ready' }
  | { is: 'running'; rows: number; total: string | null }
  | { is: 'done'; rows: number; name: string }
  | { is: 'failed'; error: Error }

function ExportDialog({ list, filters, shownColumns, onClose }: Parts & { onClose: () => void }) {
  const merchant = useMerchant()
  const [columns, setColumns] = useState<'all' | 'shown'>('all')
  const [state, setState] = useState<State>({ is: 'ready' })
  const running = useRef<AbortController>()
  useEffect(() => () => running.current?.abort(), [])

  const start = async () => {
    const controller = new AbortController()
    const { signal } = controller
    running.current = controller
    const chosen = columns === 'shown' && shownColumns ? shownColumns.join(',') : undefined
    const path = merchant.api(`/exports/${list}`) + query({ ...filters, columns: chosen, bom: 'true' })
    setState({ is: 'running', rows: 0, total: null })
    try {
      const { name, rows } = await download(path, signal, (rows, total) => setState({ is: 'running', rows, total }))
      setState({ is: 'done', rows, name })
    } catch (error) {
      setState(signal.aborted ? { is: 'ready' } : { is: 'failed', error: error as Error })
    }
  }

  return (
    <Dialog title={`Export ${list.replace('-', ' ')}`} onClose={onClose}>
      {state.is === 'running' ? (
        <Running {...state} onCancel={() => running.current?.abort()} />
      ) : state.is === 'done' ? (
        <>
          <p role="status">
            {count(state.rows)} in {state.name}. Your browser has saved the file.
          </p>
          <div class="form-actions">
            <button type="button" class="primary" onClick={onClose}>
              Done
            </button>
          </div>
        </>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void start()
          }}
        >
          <p>
            All rows that match the current filters, as they are now, in a CSV file. Amounts are in the lowest
            denomination{list.startsWith('settlement') && ', and once more as decimals to sum up'}, times in UTC.
          </p>
          {shownColumns && (
            <SelectField label="Columns" value={columns} options={COLUMN_CHOICES} onChange={setColumns} />
          )}
          {state.is === 'failed' && <ProblemText error={state.error} />}
          <div class="form-actions">
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button type="submit" class="primary first">
              Export
            </button>
          </div>
        </form>
      )}
    </Dialog>
  )
}

function Running({ rows, total, onCancel }: { rows: number; total: string | null; onCancel: () => void }) {
  // `100000+`: there are more than that.
  const most = total === null || total.endsWith('+') ? undefined : Number(total)
  const of = total === null ? 'so far' : most === undefined ? 'of more than 100,000' : `of ${NUMBER.format(most)}`
  return (
    <>
      <progress aria-label="Progress of the export" max={most ?? 1} value={most === undefined ? undefined : rows} />
      <p>
        {count(rows)} {of}
      </p>
      <div class="form-actions">
        <button type="button" class="first" onClick={onCancel}>
          Cancel the export
        </button>
      </div>
    </>
  )
}

const NUMBER = new Intl.NumberFormat('en')
const count = (rows: number) => `${NUMBER.format(rows)} ${rows === 1 ? 'row' : 'rows'}`

const NEW_LINE = 10
const TELL_EVERY_MS = 200

async function download(
  path: string,
  signal: AbortSignal,
  tell: (rows: number, total: string | null) => void,
): Promise<{ name: string; rows: number }> {
  const response = await openStream(path, signal)
  const total = response.headers.get('export-rows')
  const name = /filename="([\w.-]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? 'export.csv'
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let [bytes, lines, told] = [0, 0, 0]
  const reader = response.body?.getReader()
  for (;;) {
    const part = await reader?.read().catch((error) => {
      throw signal.aborted ? error : new Error('The export was interrupted, so the file is not complete. Try again.')
    })
    if (!part || part.done) break
    chunks.push(part.value)
    bytes += part.value.length
    if (bytes > MAX_BYTES) {
      await reader?.cancel()
      throw new Error('The file would be larger than 200 MB. Export a shorter time, or use the API.')
    }
    for (const byte of part.value) if (byte === NEW_LINE) lines++
    const now = performance.now()
    if (now - told < TELL_EVERY_MS) continue
    told = now
    tell(Math.max(0, lines - 1), total)
  }
  save(new Blob(chunks, { type: 'text/csv' }), name)
  return { name, rows: lines - 1 }
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
