import { panel } from './panel.ts'

const SIGNS = ['keydown', 'pointerdown', 'touchstart', 'visibilitychange']

export let stopLeaving = () => {}

/** Returns automatically after a success, unless the customer interacts with the page. */
export function leaveSoon(): void {
  const { return: address, returnAfter } = panel.dataset
  if (!address || returnAfter === undefined) return
  let left = Number(returnAfter)
  if (left === 0) {
    location.assign(address)
    return
  }
  const shown = document.getElementById('returning-in')
  const stay = (event?: Event) => {
    if (event?.type === 'visibilitychange' && document.visibilityState === 'visible') return
    clearInterval(clock)
    document.getElementById('returning')?.remove()
    for (const type of SIGNS) document.removeEventListener(type, stay)
    stopLeaving = () => {}
  }
  const clock = window.setInterval(() => {
    left -= 1
    if (shown) shown.textContent = String(Math.max(0, left))
    if (left <= 0) {
      stay()
      location.assign(address)
    }
  }, 1000)
  stopLeaving = stay
  for (const type of SIGNS) document.addEventListener(type, stay)
  if (document.visibilityState === 'hidden') stay()
}
