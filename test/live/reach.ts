import { connect } from 'node:net'

/** Whether a TCP connection to the host of `url` can be opened within five seconds. */
export function isReachable(url: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80), timeout: 5_000 })
    const end = (reached: boolean) => {
      socket.destroy()
      resolve(reached)
    }
    socket.on('connect', () => end(true))
    socket.on('timeout', () => end(false))
    socket.on('error', () => end(false))
  })
}
