export interface Memory {
  rss: number
  heapUsed: number
}

/** The memory use of a running Node.js, after a garbage collection. */
export interface Inspector {
  memory(): Promise<Memory>
  close(): void
}

interface Answer {
  id: number
  error?: { message: string }
  result?: { result?: { value?: unknown } }
}

export async function openInspector(port: number): Promise<Inspector> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string
  }[]
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', () => reject(new Error('the inspector does not answer')))
  })
  let calls = 0
  const call = (method: string, params: Record<string, unknown> = {}) =>
    new Promise<Answer['result']>((resolve, reject) => {
      const id = ++calls
      const onMessage = ({ data }: MessageEvent) => {
        const answer = JSON.parse(String(data)) as Answer
        if (answer.id !== id) return
        socket.removeEventListener('message', onMessage)
        if (answer.error) reject(new Error(answer.error.message))
        else resolve(answer.result)
      }
      socket.addEventListener('message', onMessage)
      socket.send(JSON.stringify({ id, method, params }))
    })
  return {
    async memory() {
      await call('HeapProfiler.collectGarbage')
      const answer = await call('Runtime.evaluate', { expression: 'process.memoryUsage()', returnByValue: true })
      return answer?.result?.value as Memory
    },
    close: () => socket.close(),
  }
}
