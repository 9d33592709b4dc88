/** The page in a frame of the shop. */
import { embedded, panel, root } from './panel.ts'

/** Tells the shop the payment's status and nothing about the customer. */
export function postToShop(type: 'ready' | 'status' | 'close'): void {
  if (embedded) parent.postMessage({ pay: 1, type, status: panel.dataset.status }, embedded)
}

export function askClose(): void {
  const dialog = document.getElementById('closing') as HTMLDialogElement | null
  const isAtStake = 'atStake' in panel.dataset
  if (dialog && isAtStake && !dialog.open) dialog.showModal()
  postToShop(isAtStake ? 'status' : 'close')
}

export function onMessage({ origin, source, data }: MessageEvent): void {
  if (!embedded || origin !== embedded || source !== parent || data?.pay !== 1) return
  if (data.type === 'ask-close') askClose()
  if (data.type === 'theme' && ['light', 'dark'].includes(data.theme)) root.dataset.theme = data.theme
  else if (data.type === 'theme') delete root.dataset.theme
}
