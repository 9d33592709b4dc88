import type { ComponentChildren, HTMLAttributes } from 'preact'
import { formatIn } from '../zone.ts'
import { ProblemPanel } from './problem.tsx'
import { useZone, ZoneName } from './values.tsx'

export interface Column<Row> {
  name: string
  /** The cell. */
  show: (row: Row) => ComponentChildren
  /** `money`: to the right, with digits of one width. `actions`: buttons; the name is for screen readers only. */
  kind?: 'money' | 'actions'
}

/** What a query of `@tanstack/preact-query` knows. */
export interface ListQuery<Row> {
  rows: Row[] | undefined
  error: Error | null
  isFetching: boolean
  /** When the shown rows were read. */
  dataUpdatedAt: number
  refetch: () => unknown
}

interface Parts<Row> {
  /** For screen readers. */
  label: string
  query: ListQuery<Row>
  columns: Column<Row>[]
  keyOf: (row: Row) => string
  /** There is nothing at all: what this is, and the next step. */
  empty: { title: string; text: ComponentChildren; action?: ComponentChildren }
  /** Set when filters are active: nothing may match them. */
  clearFilters?: (() => void) | undefined
  /** Where the next and the first page are. */
  pages?: { next?: (() => void) | undefined; first?: (() => void) | undefined }
  /** For rows that can be dragged. */
  rowProps?: (row: Row) => HTMLAttributes<HTMLTableRowElement>
  /** Whether times are shown, whose zone is named below. */
  hasTimes?: boolean
}

const SKELETON_ROWS = ['1', '2', '3', '4', '5']

/** A list in all its states: loading, rows, empty, no result, error, stale, forbidden. */
export function List<Row>(parts: Parts<Row>) {
  const { label, query, columns, keyOf, empty, clearFilters, pages, rowProps, hasTimes } = parts
  const { rows, error, refetch, dataUpdatedAt } = query
  if (!rows && error) return <ProblemPanel error={error} retry={refetch} />
  if (!rows) return <Skeleton label={label} columns={columns.length} />
  if (rows.length === 0 && clearFilters)
    return (
      <div class="panel">
        <h2>No result</h2>
        <p>Nothing matches these filters.</p>
        <button type="button" onClick={clearFilters}>
          Clear filters
        </button>
      </div>
    )
  if (rows.length === 0 && !pages?.first)
    return (
      <div class="panel">
        <h2>{empty.title}</h2>
        <p>{empty.text}</p>
        {empty.action}
      </div>
    )
  return (
    <>
      {error && <Stale since={dataUpdatedAt} retry={refetch} />}
      {/* Display rules for phones take the roles of a table away in some browsers, so they are named. */}
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      <table class="list" role="table" aria-label={label} aria-busy={query.isFetching}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, kind }) => (
              <th key={name} role="columnheader" scope="col" class={kind}>
                {kind === 'actions' ? <span class="unseen">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" {...rowProps?.(row)}>
              {columns.map(({ name, show, kind }) => (
                <td key={name} role="cell" class={kind} data-name={kind === 'actions' ? undefined : name}>
                  {show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/noRedundantRoles: see above */}
      <div class="list-foot">
        {hasTimes && (
          <p>
            Times in <ZoneName />
          </p>
        )}
        {(pages?.first || pages?.next) && (
          <div class="pages">
            <button type="button" disabled={!pages.first} onClick={pages.first}>
              First page
            </button>
            <button type="button" disabled={!pages.next} onClick={pages.next}>
              Next page
            </button>
          </div>
        )}
      </div>
    </>
  )
}

/** Visible after 200 ms, by the style sheet: a fast answer shows no flicker. */
function Skeleton({ label, columns }: { label: string; columns: number }) {
  return (
    <div class="skeleton late" role="status" aria-label={`Loading: ${label}`}>
      {SKELETON_ROWS.map((row) => (
        <div key={row} class="skeleton-row">
          {Array.from({ length: Math.min(columns, 4) }, (_, column) => (
            <span key={column} />
          ))}
        </div>
      ))}
    </div>
  )
}

function Stale({ since, retry }: { since: number; retry: () => unknown }) {
  const time = formatIn(useZone(), 'clock').format(since)
  return (
    <div class="stale" role="status">
      <p>
        Not up to date: this is from {time} (<ZoneName />
        ).
      </p>
      <button type="button" onClick={() => retry()}>
        Try again
      </button>
    </div>
  )
}
