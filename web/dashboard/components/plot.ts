import UPlot from 'uplot'

export interface Series {
  name: string
  /** Null: there is no value. */
  values: (number | null)[]
  isBars?: boolean
  isDashed?: boolean
}

interface Content {
  labels: string[]
  series: Series[]
  most?: number
  format: (value: number) => string
  formatShort?: (value: number) => string
}

export interface Plot {
  update(content: Content): void
  destroy(): void
}

const HEIGHT = 180
const AXIS_WIDTH = 56
const FONT = '12px system-ui, sans-serif'
/** Of the legend, too: see overview.css. */
const COLOURS = ['--accent-text', '--attention']

/** Draws on a canvas with uPlot. Its colours are those of the style sheet, in light and dark. */
export function drawPlot(frame: HTMLElement, content: Content, onPoint: (index: number | null) => void): Plot {
  let shown = content
  // A computed `color` is one colour. The custom property itself is the text of a light-dark().
  const colour = (name: string) => {
    frame.style.color = `var(${name})`
    const { color } = getComputedStyle(frame)
    frame.style.color = ''
    return color
  }
  const axis = { font: FONT, stroke: () => colour('--soft'), ticks: { show: false } }
  const dataOf = ({ labels, series }: Content): UPlot.AlignedData => [
    labels.map((_, index) => index),
    ...series.map(({ values }) => values),
  ]
  const bars = UPlot.paths.bars?.({ size: [0.7, 48] })
  const chart = new UPlot(
    {
      width: frame.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: {
        x: { time: false, range: (_, least, most) => [least - 0.5, most + 0.5] },
        y: { range: (_, __, most) => [0, shown.most ?? Math.max(1, most * 1.1)] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          grid: { show: false },
          space: 64,
          incrs: [1, 2, 3, 5, 7, 10, 14, 20, 30, 60, 90],
          values: (_, splits) => splits.map((index) => shown.labels[index] ?? ''),
        },
        {
          ...axis,
          size: AXIS_WIDTH,
          grid: { stroke: () => colour('--line'), width: 1 },
          values: (_, splits) => splits.map(shown.formatShort ?? shown.format),
        },
      ],
      series: [
        {},
        ...content.series.map(
          ({ isBars, isDashed }, index): UPlot.Series => ({
            stroke: () => colour(COLOURS[index] ?? '--ink'),
            width: isBars ? 0 : 2,
            spanGaps: true,
            points: { show: content.labels.length <= 7 && !isBars, size: 5 },
            ...(isDashed && { dash: [6, 4] }),
            ...(isBars && bars && { paths: bars, fill: () => colour(COLOURS[index] ?? '--ink') }),
          }),
        ),
      ],
      hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
    },
    dataOf(content),
    frame,
  )
  const resize = new ResizeObserver(() => chart.setSize({ width: frame.clientWidth, height: HEIGHT }))
  resize.observe(frame)
  // uPlot reads the colours of a series with its paths.
  const redraw = () => chart.redraw(true, true)
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  scheme.addEventListener('change', redraw)
  const theme = new MutationObserver(redraw)
  theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return {
    update(next) {
      shown = next
      chart.setData(dataOf(next))
    },
    destroy() {
      resize.disconnect()
      theme.disconnect()
      scheme.removeEventListener('change', redraw)
      chart.destroy()
    },
  }
}
