// With NODE_OPTIONS=--import=…: SIGUSR2 blocks the event loop of the process for ever, as a loop without end does.
import { isMainThread } from 'node:worker_threads'

function blocksForEver(): void {
  for (let count = 0; ; count++) Math.sqrt(count)
}

if (isMainThread) process.on('SIGUSR2', blocksForEver)
