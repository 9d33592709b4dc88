import { createTransport } from 'nodemailer'

export interface Mail {
  to: string
  subject: string
  text: string
}

const MAX_NAME_LENGTH = 60

/**
 * A merchant's name for subject and text. A stranger may get the mail, and mail programs make links of `shop.example`
 * and `pay@shop.example`, and a person may call a number, so only letters, short numbers, spaces and a few signs are
 * left, and not many.
 */
export function nameInMail(name: string): string {
  const plain = name
    .normalize('NFKC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '') // invisible, some are letters: U+3164
    .replaceAll(/[^\p{L}\p{M}\p{N}&'’(),-]+/gu, ' ')
    .replaceAll(/\p{N}(?:[^\p{L}\p{N}]*\p{N}){6,}/gu, ' ') // a phone number, however it is written
    .replaceAll(/ +/g, ' ')
  const short = Array.from(plain.trim()).slice(0, MAX_NAME_LENGTH).join('').trim()
  return /[\p{L}\p{N}]/u.test(short) ? short : 'a merchant'
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
