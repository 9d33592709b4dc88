import type { Outcome } from './provider.ts'

/** What the customer gets to pay with; an outcome, when the money moved at once or can not move. */
export type Start = Started | Outcome
export type Started = LinkStart | AccountStart | PromptStart | PayToStart | CodeWanted | DialStart | QrStart

interface StartedOrder {
  providerReference: string
  expiresAt: Date
}

/** A page of the provider's. */
export interface LinkStart extends StartedOrder {
  kind: 'link'
  link: string
  publicKey: string
  /** The provider takes no second payment by this link, so it is not checked again once it was paid. */
  paidOnce?: true
}

/** An account number for this order alone. */
export interface AccountStart extends StartedOrder {
  kind: 'account'
  /** Some providers have none to show. */
  accountName: string | null
  accountNumber: string
  bankName: string
  amountToTransfer: number
  /** Must stand in the transfer, else the provider cannot tell whose it is. */
  narration?: string
}

/** The network asks on the customer's phone. */
export interface PromptStart extends StartedOrder {
  kind: 'prompt'
  /** The provider's own words for the customer, if any. */
  message?: string
  /** How the customer gets the prompt again, in the provider's own words. */
  again?: string
  /** The name that the prompt shows, where it is not the shop's. */
  shownAs?: string
  /** The provider's own id of it, where that names the customer: it is not shown, and erased with them. */
  personalId?: string
}

/** The customer pays from the network's own menu, any amount. */
export interface PayToStart extends StartedOrder {
  kind: 'pay to'
  number: string
  account: string
}

/** The provider wants a code first: `submit` gives it. */
export interface CodeWanted extends StartedOrder {
  kind: 'code wanted'
  /** `otp`: sent to the phone. `voucher`: the customer makes it by dialling. */
  code: 'otp' | 'voucher'
  /** The provider's own words: where the code comes from. */
  message: string
}

/** A code to dial on the phone. */
export interface DialStart extends StartedOrder {
  kind: 'dial'
  code: string
  bankName: string | null
  /** The provider's own words for the customer, if any. */
  message?: string
}

export interface QrStart extends StartedOrder {
  kind: 'qr'
  /** The text to encode. */
  text: string
}

/** `code refused`: it was wrong and can be given again. */
export type Submitted = Start | { kind: 'code refused'; because: string }
