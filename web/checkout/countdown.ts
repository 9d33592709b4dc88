import { load } from './load-panel.ts'
import { later, speak } from './panel.ts'

let ticking = 0

/** Counts down from the server's remaining time on the monotonic clock: the device's clock may be wrong. */
export function countDown(timer: HTMLElement): void {
  const end = performance.now() + Number(timer.dataset.left) * 1000
  const isRunning = Number(timer.dataset.left) > 0
  let before = Number.POSITIVE_INFINITY
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - performance.now()) / 1000))
    timer.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`
    for (const minutes of [10, 5, 1]) {
      if (before > minutes * 60 && left <= minutes * 60 && before !== Number.POSITIVE_INFINITY) {
        speak(timer.getAttribute(`data-say-${minutes}`) ?? '')
      }
    }
    before = left
    if (left > 0) ticking = later(tick, (end - performance.now()) % 1000 || 1000)
    else if (isRunning) ticking = later(() => void load(), 1000)
  }
  clearTimeout(ticking)
  tick()
}
