import type { IncomingMessage } from 'node:http'

export function readBody(message: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    message.on('data', (part: Buffer) => parts.push(part))
    message.once('end', () => resolve(Buffer.concat(parts).toString()))
    message.once('error', reject)
  })
}
