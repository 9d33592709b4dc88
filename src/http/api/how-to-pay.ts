import { dialCodesFor } from '../../kernel/dial-codes.ts'
import { type Html, html } from '../../kernel/html.ts'
import { formatMoney, money } from '../../kernel/money.ts'
import { maskPhoneNumber } from '../../kernel/phone-number.ts'
import type { Attempt } from '../../payments/state/attempt.ts'

/**
 * What the customer gets to pay with, for a shop that shows it on a page of its own. `message` is HTML for the customer
 * with all values escaped.
 */
export function howToPay(attempt: Attempt): Record<string, unknown> {
  const { message, ...details } = detailsOf(attempt)
  return { message: message.text, ...givenBy(attempt), ...details }
}

function detailsOf(attempt: Attempt): Record<string, unknown> & { message: Html } {
  const { instructions, currency, amountCharged, providerReference, amountReceived, amountReturned } = attempt
  const expiresAt = attempt.instructionsExpireAt?.toISOString() ?? null
  const price = formatMoney({ amount: amountCharged, currency })
  switch (instructions?.kind) {
    case 'link':
    case 'confirm':
    case 'step': {
      // An open PIN or code step of a saved card has a link and no public key.
      const { link, publicKey } = { publicKey: null, ...instructions }
      const message = html`Follow <a href="${link}">this link</a> to complete your payment of ${price}.`
      return { message, link, reference: providerReference, publicKey, ...expiryOf(attempt) }
    }
    case 'account': {
      const { accountName, accountNumber, bankName, amountToTransfer, narration } = instructions
      const sum = money(Math.max(0, amountToTransfer - (amountReceived - amountReturned)), currency)
      const more = narration === undefined ? html`` : html` Write <strong>${narration}</strong> as the narration.`
      const message = html`Transfer <strong>${formatMoney(sum)}</strong> to account <strong>${accountNumber}</strong> (${accountName}) at ${bankName}.${more}`
      const dialCodes = dialCodesFor(sum, instructions)
      return {
        ...{ message, accountName, accountNumber, bankName, expiresAt, amountToTransfer },
        ...(narration !== undefined && { narration }),
        ...(dialCodes.length > 0 && { dialCodes }),
      }
    }
    case 'prompt': {
      const { message, shownAs, isUnsure } = instructions
      if (isUnsure) return { message: withoutInstructions(attempt, price), expiresAt }
      const name = shownAs ? html` It shows the name ${shownAs}.` : html``
      const own = html`Approve the request for <strong>${price}</strong> on your phone.${name}`
      return { message: message ? html`${message}` : own, expiresAt, ...(shownAs && { shownAs }) }
    }
    case 'pay to': {
      const { number, account } = instructions
      const message = html`Pay <strong>${price}</strong> from the menu of your phone: business number <strong>${number}</strong>, account <strong>${account}</strong>.`
      return { message, payTo: { number, account }, expiresAt }
    }
    case 'code wanted': {
      const { code, message } = instructions
      return { message: html`${message}`, input: { kind: code, message }, expiresAt }
    }
    case 'dial': {
      const { code, bankName, message: own } = instructions
      const more = own ? html` ${own}` : html``
      const message = html`Dial <strong>${code}</strong> on your phone to pay <strong>${price}</strong>.${more}`
      return { message, code, bankName, expiresAt }
    }
    case 'qr':
      return { message: html`Scan the QR code to pay <strong>${price}</strong>.`, qr: instructions.text, expiresAt }
    case undefined:
      return { message: withoutInstructions(attempt, price), expiresAt }
  }
}

/** Some networks take the money at once. The answer of others may be lost, and their phone asks all the same. */
function withoutInstructions({ status }: Attempt, price: string): Html {
  return status === 'successful'
    ? html`Your payment of <strong>${price}</strong> is complete.`
    : html`If your phone asks you to pay <strong>${price}</strong>, approve it. The provider is working on the payment.`
}

/** What the customer gave for the channel, as it may be shown. */
function givenBy({ channel, input }: Attempt): Record<string, unknown> {
  switch (channel) {
    case 'mobile-money':
      return {
        phoneNumber: input?.phoneNumber ? maskPhoneNumber(input.phoneNumber) : null,
        network: input?.network ?? null,
      }
    case 'card':
    case 'virtual-bank-account':
    case 'ussd':
    case 'bank':
    case 'qr':
      return {}
  }
}

/** The answer for a card has never had it. */
function expiryOf({ channel, instructionsExpireAt }: Attempt): Record<string, unknown> {
  switch (channel) {
    case 'card':
    case 'virtual-bank-account':
      return {}
    case 'mobile-money':
    case 'ussd':
    case 'bank':
    case 'qr':
      return { expiresAt: instructionsExpireAt?.toISOString() ?? null }
  }
}
