import { createTransport } from 'nodemailer'

export interface Mail {
  to: string
  subject: string
  text: string
}

export type SendMail = (mail: Mail) => Promise<void>

/** Sends plain text over SMTP_URL. */
export function smtpMail(url: string, from: string): SendMail {
  const transport = createTransport({ url, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 })
  return async ({ to, subject, text }) => {
    // An object, not a text: a name in the address could add recipients.
    await transport.sendMail({ from, to: { name: '', address: to }, subject, text }).catch((error) => {
      // The server's own words may hold the address of a person, and this error is logged.
      throw new Error(`sending mail by SMTP_URL failed: ${(error as { code?: string }).code ?? 'unknown reason'}`)
    })
  }
}
