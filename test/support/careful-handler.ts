import type { ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import type { Heard } from './listener.ts'

/**
 * Answers as a merchant should: checks the raw body with a library of Standard Webhooks, and accepts everything with a
 * valid signature.
 */
export function carefulHandler(secret: string) {
  const judge = new Webhook(secret)
  return (heard: Heard, response: ServerResponse) => {
    try {
      judge.verify(heard.body, heard.headers as Record<string, string>)
      response.writeHead(204).end()
    } catch {
      response.writeHead(401).end()
    }
  }
}
