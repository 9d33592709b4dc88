import { encode } from 'uqr'

/** The dark squares of a QR code as a path, and its size in squares. */
function shapeOf(text: string, border: number): { path: string; size: number; data: boolean[][] } {
  const { data, size } = encode(text, { border })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return { path, size, data }
}

/** A QR code as SVG, dark on white in every theme, because some cameras cannot read the inverse. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { path, size } = shapeOf(text, 2)
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}

// ISO/IEC 18004. On the screen there is white around it.
const QUIET_ZONE = 4

export function qrSvg(text: string): Blob {
  const { path, size } = shapeOf(text, QUIET_ZONE)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${path}"/></svg>`
  return new Blob([svg], { type: 'image/svg+xml' })
}

const PNG_PIXELS = 1_024

/** At least 1024 pixels wide, in whole pixels per square. */
export function qrPng(text: string): Promise<Blob | null> {
  const { data, size } = shapeOf(text, QUIET_ZONE)
  const scale = Math.ceil(PNG_PIXELS / size)
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = size * scale
  const context = canvas.getContext('2d')
  if (!context) return Promise.resolve(null)
  context.fillStyle = '#fff'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.fillStyle = '#000'
  for (const [y, row] of data.entries())
    for (const [x, isDark] of row.entries()) if (isDark) context.fillRect(x * scale, y * scale, scale, scale)
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'))
}
