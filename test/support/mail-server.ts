import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { after } from 'node:test'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  /** Of the envelope. */
  recipients: string[]
  raw: string
  mail: Email
}

export interface MailServer {
  url: string
  mails: ReceivedMail[]
  /** How it answers the next recipients: taken, unknown (550), or later (451). */
  answers: 'take' | 'refuse' | 'later'
  /** Runs when a mail has arrived, before it is acknowledged. */
  beforeAcknowledging: (() => Promise<void>) | undefined
}

/** A real SMTP server, which keeps what it takes. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = []
  const state: MailServer = { url: '', mails, answers: 'take', beforeAcknowledging: undefined }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onRcptTo(_address, _session, done) {
      if (state.answers === 'take') return done()
      const responseCode = state.answers === 'refuse' ? 550 : 451
      done(Object.assign(new Error('no such user here'), { responseCode }))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        const raw = Buffer.concat(chunks).toString()
        const recipients = session.envelope.rcptTo.map(({ address }) => address)
        mails.push({ recipients, raw, mail: await PostalMime.parse(raw) })
        await state.beforeAcknowledging?.()
        done()
      })
    },
  })
  const listening: Server = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  state.url = `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`
  after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return state
}
