import { useEffect, useRef, useState } from 'preact/hooks'
import type { Plot, Series } from './plot.ts'

export interface ChartParts {
  title: string
  /** A day or an hour for each value. */
  labels: string[]
  series: Series[]
  /** The highest value that there can be. */
  most?: number
  format: (value: number) => string
  /** For the axis. */
  formatShort?: (value: number) => string
}

/** A chart over time, or the same as a table. The library that draws is loaded when the first one is shown. */
export function Chart(parts: ChartParts) {
  const { title, labels, series, format } = parts
  const [isTable, setIsTable] = useState(false)
  const [pointed, setPointed] = useState<number | null>(null)
  const shown = pointed !== null && pointed < labels.length ? pointed : null
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <button
          type="button"
          class="link"
          aria-pressed={isTable}
          aria-label={`Show as table: ${title}`}
          onClick={() => setIsTable(!isTable)}
        >
          Show as table
        </button>
      </figcaption>
      {isTable ? (
        <ChartTable {...parts} />
      ) : (
        <>
          <p class="legend" aria-hidden="true">
            {series.map(({ name, values, isDashed, isBars }, index) => (
              <span key={name}>
                {(series.length > 1 || shown !== null) && <Swatch isDashed={isDashed} isBars={isBars} index={index} />}
                {series.length > 1 && name} {shown !== null && formatOrNone(values[shown], format)}
              </span>
            ))}
            {shown !== null && <span class="soft">{labels[shown]}</span>}
          </p>
          <Canvas {...parts} onPoint={setPointed} />
        </>
      )}
    </figure>
  )
}

function formatOrNone(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value)
}

function Canvas({ onPoint, ...parts }: ChartParts & { onPoint: (index: number | null) => void }) {
  const frame = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot>()
  const latest = useRef(parts)
  latest.current = parts
  useEffect(() => {
    let isShown = true
    void import('./plot.ts').then(({ drawPlot }) => {
      if (isShown && frame.current) plot.current = drawPlot(frame.current, latest.current, onPoint)
    })
    return () => {
      isShown = false
      plot.current?.destroy()
    }
  }, [])
  const { labels, series } = parts
  useEffect(() => plot.current?.update(parts), [JSON.stringify([labels, series])])
  return (
    <div class="canvas" ref={frame} role="img" aria-label={`${parts.title}: a chart. Its numbers are in the table.`} />
  )
}

function ChartTable({ title, labels, series, format }: ChartParts) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
    <section class="chart-table" aria-label={`${title} as a table`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ name }) => (
              <th key={name} scope="col" class="money">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {labels.map((label, index) => (
            <tr key={`${index} ${label}`}>
              <th scope="row">{label}</th>
              {series.map(({ name, values }) => (
                <td key={name} class="money">
                  {formatOrNone(values[index], format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Swatch({ isDashed = false, isBars = false, index }: { isDashed?: boolean; isBars?: boolean; index: number }) {
  return (
    <svg class={`swatch swatch-${index}`} width="16" height="8" viewBox="0 0 16 8" aria-hidden="true">
      {isBars ? (
        <rect x="4" width="8" height="8" fill="currentColor" />
      ) : (
        <path d="M0 4h16" stroke="currentColor" stroke-width="2" stroke-dasharray={isDashed ? '4 3' : undefined} />
      )}
    </svg>
  )
}
