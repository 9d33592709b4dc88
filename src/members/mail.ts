import { createTransport } from 'nodemailer'

export interface Mail {
  to: string
  subject: string
  text: string
  html?: string
  /** The same for each try to send this mail, so that mail programs can drop a second copy. */
  id?: string
}

/** The mail server takes no mail for this recipient, or not this mail. It would say so again. */
export class MailRefused extends Error {}

const MAX_NAME_LENGTH = 60

/**
 * A merchant's name for subject and text. A stranger may get the mail, and mail programs make links of `shop.example`
 * and `pay@shop.example`, and a person may call a number, so only letters, short numbers, spaces and a few signs are
 * left, and not many.
 */
export function nameInMail(name: string): string {
  return plainName(name) ?? 'a merchant'
}

/** The same for any name. Undefined when nothing is left. */
export function plainName(name: string): string | undefined {
  const plain = name
    .normalize('NFKC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '') // invisible, some are letters: U+3164
    .replaceAll(/[^\p{L}\p{M}\p{N}&'’(),-]+/gu, ' ')
    .replaceAll(/\p{N}(?:[^\p{L}\p{N}]*\p{N}){6,}/gu, ' ') // a phone number, however it is written
    .replaceAll(/ +/g, ' ')
  const short = Array.from(plain.trim()).slice(0, MAX_NAME_LENGTH).join('').trim()
  return /[\p{L}\p{N}]/u.test(short) ? short : undefined
}

export type SendMail = (mail: Mail) => Promise<void>

/** Such an address may be quoted, shortened or taken for several. */
const NOT_PLAIN = /[\s<>()[\],;:\\"]/

/** Sends over SMTP_URL, to one recipient. */
export function smtpMail(url: string, from: string): SendMail {
  const transport = createTransport({ url, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 })
  // Programs that answer by themselves must not answer to this.
  const headers = { 'auto-submitted': 'auto-generated' }
  return async ({ to, subject, text, html, id }) => {
    if (NOT_PLAIN.test(to)) throw new MailRefused('the address has characters of a list or a comment')
    const domain = /@([^\s>]+)>?$/.exec(from)?.[1] ?? 'localhost'
    const content = { subject, text, headers, ...(html && { html }), ...(id && { messageId: `<${id}@${domain}>` }) }
    // An object, not a text: a name in the address could add recipients.
    await transport.sendMail({ from, to: { name: '', address: to }, ...content }).catch((error: SmtpError) => {
      // The server's own words may hold the address of a person, and this error is logged.
      const because = `sending mail by SMTP_URL failed: ${error.responseCode ?? error.code ?? 'unknown reason'}`
      throw isFinal(error) ? new MailRefused(because) : new Error(because)
    })
  }
}

interface SmtpError {
  code?: string
  /** The last command of SMTP. */
  command?: string
  responseCode?: number
}

/** Of other commands, such as AUTH or MAIL FROM, a refusal is about this service, and the operator can mend it. */
function isFinal({ command, responseCode = 0 }: SmtpError): boolean {
  return responseCode >= 500 && (command === 'RCPT TO' || command === 'DATA')
}
