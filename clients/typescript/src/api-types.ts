// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.

export interface CheckoutRequest {
  /** Amount to charge, in the lowest denomination of the currency (kobo for NGN). */
  amount: number
  /** The customer. */
  user: {
    /** E-mail address of the customer. Stored as given, compared case-insensitively. */
    email: string
    /**
     * Your own id of a customer who is signed in with you: 1 to 64 characters of `A-Z a-z 0-9 _ . : @ -`. Saved
     * cards belong to it. The payment page offers saved cards only for a payment that has it. Never take it from
     * user input.
     */
    id?: string | null
    /** Phone number of the customer. */
    phoneNumber?: string | null
    /** Name of the customer. */
    name?: string | null
  }
  /**
   * Your own reference, unique for each payment: 1 to 100 printable ASCII characters without spaces. Absent:
   * Manilla generates one.
   */
  reference?: string | null
  /** ISO 4217, any case. Absent, null or empty: NGN. */
  currency?: string | null
  /** Country that the payment is processed for: ISO 3166-1 alpha-2, alpha-3 or English short name, any case. */
  country: string
  /**
   * The customer returns here after the payment, with `status` and `reference` as query parameters. In live
   * mode https only.
   */
  redirectURL?: string | null
  /** The customer pays the provider’s fee on top of the amount. */
  customerBearsCharge?: boolean | null
  /** Receives the events of this payment. In live mode https only. */
  webhook?: string | null
  /** A flat object of strings. It is returned with the payment and in webhooks. */
  metadata?: Record<string, string> | null
  /** Seconds until the link expires. */
  expiresIn?: number | null
}

export interface Checkout {
  /** Identifier of the checkout; `url` ends with it. */
  id: string
  /** Long link to the payment page. */
  url: string
  /** Short link to the payment page. */
  shortURL: string
  /** Reference of the payment: yours, or the generated one. */
  reference: string
  /** Amount of the payment. */
  amount: number
}

export interface LinkRequest {
  /** What the customer pays for. The page shows it as its heading. */
  title: string
  /** ISO 4217, any case. Absent, null or empty: NGN. */
  currency?: string | null
  /** Country that the payment is processed for: ISO 3166-1 alpha-2, alpha-3 or English short name, any case. */
  country: string
  /** Shown below the title. */
  description?: string | null
  /** A fixed amount, in the lowest denomination of the currency. Absent: the customer chooses the amount. */
  amount?: number | null
  /** The lowest amount that the customer may choose. Without `amount` only. */
  minAmount?: number | null
  /** The highest amount that the customer may choose. Without `amount` only. */
  maxAmount?: number | null
  /** The customer pays the provider’s fee on top of the amount. */
  customerBearsCharge?: boolean | null
  /** The page asks for the customer’s name. */
  collectName?: boolean | null
  /** The page asks for the customer’s phone number. */
  collectPhoneNumber?: boolean | null
  /**
   * The label of one more field. The answer, at most 200 characters, is `metadata` of the payment, under this
   * name.
   */
  customField?: string | null
  /**
   * The link is `used_up` after this many successful payments. A payment that was begun before can still be
   * paid. Absent: any number.
   */
  maxPayments?: number | null
  /** An inactive link takes no payments. */
  active?: boolean | null
  /** Seconds from now until the link expires. Absent: it does not expire. */
  expiresIn?: number | null
  /**
   * The customer returns here after the payment, with `status` and `reference` as query parameters. In live
   * mode https only.
   */
  redirectURL?: string | null
  /** A flat object of strings. It is returned with the payment and in webhooks. */
  metadata?: Record<string, string> | null
}

/**
 * An absent field stays. `null` removes `description`, `amount`, `minAmount`, `maxAmount`, `customField`,
 * `maxPayments`, the expiry (`expiresIn`) and `redirectURL`. Currency and country cannot be changed.
 */
export interface LinkChanges {
  /** What the customer pays for. The page shows it as its heading. */
  title?: string | null
  /** Shown below the title. */
  description?: string | null
  /** A fixed amount, in the lowest denomination of the currency. Absent: the customer chooses the amount. */
  amount?: number | null
  /** The lowest amount that the customer may choose. Without `amount` only. */
  minAmount?: number | null
  /** The highest amount that the customer may choose. Without `amount` only. */
  maxAmount?: number | null
  /** The customer pays the provider’s fee on top of the amount. */
  customerBearsCharge?: boolean | null
  /** The page asks for the customer’s name. */
  collectName?: boolean | null
  /** The page asks for the customer’s phone number. */
  collectPhoneNumber?: boolean | null
  /**
   * The label of one more field. The answer, at most 200 characters, is `metadata` of the payment, under this
   * name.
   */
  customField?: string | null
  /**
   * The link is `used_up` after this many successful payments. A payment that was begun before can still be
   * paid. Absent: any number.
   */
  maxPayments?: number | null
  /** An inactive link takes no payments. */
  active?: boolean | null
  /** Seconds from now until the link expires. Absent: it does not expire. */
  expiresIn?: number | null
  /**
   * The customer returns here after the payment, with `status` and `reference` as query parameters. In live
   * mode https only.
   */
  redirectURL?: string | null
  /** A flat object of strings. It is returned with the payment and in webhooks. */
  metadata?: Record<string, string> | null
}

export interface Link {
  id: string
  /** The page of the link, for customers. */
  url: string
  mode: 'sandbox' | 'live'
  /**
   * `active`: it can be paid. `inactive`: switched off. `expired`: its time is over. `used_up`: paid
   * `maxPayments` times.
   */
  status: 'active' | 'inactive' | 'expired' | 'used_up'
  title: string
  description: string | null
  amount: number | null
  minAmount: number | null
  maxAmount: number | null
  currency: string
  country: string
  customerBearsCharge: boolean
  collectName: boolean
  collectPhoneNumber: boolean
  customField: string | null
  maxPayments: number | null
  /** Successful payments, counted up to 1000. */
  timesPaid: number
  active: boolean
  redirectURL: string | null
  metadata: Record<string, string>
  createdAt: string
  expiresAt: string | null
}

export interface InitializeRequest {
  /**
   * Name of a provider for its card channel, or the name followed by the channel: `-virtual-bank-account`,
   * `-mobile-money`, `-ussd`, `-bank`, `-qr`.
   */
  provider: string
  /** Amount to charge, in the lowest denomination of the currency (kobo for NGN). */
  amount: number
  /** The customer. */
  user: {
    /** E-mail address of the customer. Stored as given, compared case-insensitively. */
    email: string
    /**
     * Your own id of a customer who is signed in with you: 1 to 64 characters of `A-Z a-z 0-9 _ . : @ -`. Saved
     * cards belong to it. The payment page offers saved cards only for a payment that has it. Never take it from
     * user input.
     */
    id?: string | null
    /** Phone number of the customer. */
    phoneNumber?: string | null
    /** Name of the customer. */
    name?: string | null
  }
  /**
   * Your own reference, unique for each payment: 1 to 100 printable ASCII characters without spaces. Absent:
   * Manilla generates one.
   */
  reference?: string | null
  /**
   * The customer returns here after the payment, with `status` and `reference` as query parameters. In live
   * mode https only.
   */
  redirectURL?: string | null
  /** Receives the events of this payment. In live mode https only. */
  webhook?: string | null
  /** ISO 4217, any case. Absent, null or empty: NGN. */
  currency?: string | null
  /** Country that the payment is processed for: ISO 3166-1 alpha-2, alpha-3 or English short name, any case. */
  country?: string | null
  /** The customer pays the provider’s fee on top of the amount. */
  customerBearsCharge?: boolean | null
  /** A flat object of strings. It is returned with the payment and in webhooks. */
  metadata?: Record<string, string> | null
  /** Seconds until the link expires. */
  expiresIn?: number | null
  /** The customer agreed to save the card. Only for providers whose own page does not ask. */
  saveCard?: boolean | null
  /** mobile-money: the number that pays, as people write it. Absent: `user.phoneNumber`. */
  phoneNumber?: string | null
  /**
   * mobile-money: the network of the number. Absent: guessed from the number. See `GET /payments/v1/channels`.
   */
  network?: string | null
  /**
   * ussd and bank: the code of the customer’s bank, where the provider asks for it. See `GET
   * /payments/v1/channels`.
   */
  bank?: string | null
  /** mobile-money: a code that the customer made beforehand, where the network wants one. */
  preAuthorisationCode?: string | null
}

export interface Initialized {
  provider: string
  channel: 'card' | 'virtual-bank-account' | 'mobile-money' | 'ussd' | 'bank' | 'qr'
  /** Reference of the attempt. The widget accepts it. */
  reference: string
  amount: number
  /**
   * By channel. card: `message`, `link`, `reference`, `publicKey` (null while a saved card waits for a PIN or
   * code). virtual-bank-account: `message`, `accountName`, `accountNumber`, `bankName`, `expiresAt`,
   * `amountToTransfer`; `narration` where the transfer must have it, as by Pesalink; `dialCodes` (`bank`,
   * `bankName`, `code`) where a bank makes the transfer when the customer dials. mobile-money: `message`,
   * `phoneNumber` (masked), `network`, `expiresAt`; `link` where the network wants a page; `input` where it
   * wants a code (`kind`: `otp` or `voucher`); `payTo` (`number`, `account`) where the customer pays from the
   * network’s menu. ussd: `message`, `code` to dial, `bankName`, `expiresAt`. bank: `message`, `link`,
   * `reference`, `publicKey`, `expiresAt`. qr: `message`, `qr` (the text to encode), `expiresAt`. ussd and qr
   * have `link`, `reference` and `publicKey` where the provider has a page for them.
   */
  data: Record<string, unknown>
}

/** One try at paying a payment, through one provider. */
export interface Attempt {
  id: string
  /** The payment’s reference with a unique suffix. */
  reference: string
  number: number
  provider: string
  channel: 'card' | 'virtual-bank-account' | 'mobile-money' | 'ussd' | 'bank' | 'qr'
  /**
   * `pending`: the customer has a link or an account number and has not paid yet. `processing`: the provider is
   * working on it or did not answer, so the outcome is not known yet. `successful`: it paid the payment.
   * `failed`: see `failure`; the customer can try again. `abandoned`: the payment ended in another way first.
   * `surplus`: it was paid after the payment had already been paid; the money is refunded, or `needsReview`
   * says why not.
   */
  status: 'pending' | 'processing' | 'successful' | 'failed' | 'abandoned' | 'surplus'
  /** The amount that the customer pays. */
  amountCharged: number
  /** The provider’s fee, part of `amountCharged`. */
  fee: number
  /** The fee that the provider really kept; null until it says so, see docs/settlements.md. */
  feeCharged: number | null
  /** The amount that has arrived through this attempt so far. */
  amountReceived: number
  failure: {
    code?: 'insufficient_funds' | 'card_declined' | 'card_expired' | 'card_not_supported' | 'incorrect_pin' | 'incorrect_otp' | 'authentication_failed' | 'limit_exceeded' | 'suspected_fraud' | 'invalid_token' | 'reversed' | 'amount_mismatch' | 'transfer_expired' | 'prompt_expired' | 'subscriber_unknown' | 'customer_cancelled' | 'provider_unavailable' | 'provider_error' | 'other'
    /** For you, in English. The payment page shows its own text for `code`, in the customer’s language. */
    message?: string
    retryable?: boolean
    providerCode?: string | null
  } | null
  /** Why a person must check this attempt. */
  needsReview: string | null
  providerReference: string
  /** What the customer gave for the channel. */
  paidFrom: {
    /** Masked. */
    phoneNumber?: string | null
    network?: string | null
    /** The provider’s code of the bank. */
    bank?: string | null
  } | null
  /** How the customer pays: a link, an account to transfer to, a prompt on the phone, or a code. */
  instructions: Record<string, unknown> | null
  createdAt: string
  resolvedAt: string | null
}

export interface Payment {
  id: string
  reference: string
  mode: 'sandbox' | 'live'
  /**
   * `pending`: not paid yet; a failed attempt leaves it `pending`. `successful`: paid. `cancelled`, `expired`:
   * ended unpaid; money that arrives later still makes it `successful`, with `late: true`.
   */
  status: 'pending' | 'successful' | 'cancelled' | 'expired'
  /** The money arrived after the payment was cancelled or had expired. */
  late: boolean
  amount: number
  currency: string
  country: string
  customerBearsCharge: boolean
  fee: number | null
  /** The fee that the provider really kept. `fee` is the one that was calculated. */
  feeCharged: number | null
  amountCharged: number | null
  amountPaid: number
  amountRefunded: number
  user: {
    /** Your own id of the customer. */
    id: string | null
    email: string
    phoneNumber: string | null
    name: string | null
  }
  redirectURL: string | null
  webhook: string | null
  metadata: Record<string, string>
  /** The id of the reusable link that the customer paid. */
  link: string | null
  url: string
  shortURL: string
  attempts: Attempt[]
  refunds: Refund[]
  createdAt: string
  expiresAt: string
  completedAt: string | null
}

/** As `input.kind` says. */
export interface InputRequest {
  /** The code that was sent to the phone. */
  otp?: string | null
  /** The code that the customer made by dialling. */
  voucher?: string | null
}

export interface WidgetToken {
  /** For `Pay.open({ reference, token })`. Valid for this payment only. */
  token: string
  expiresAt: string
}

export interface RefundAccount {
  /** Send `destinationAccountNumber` and `destinationAccountBankCode` with a refund. */
  needed: boolean
  provider: string
  /** The banks that the provider lists. Empty: it has no list, or does not answer. */
  banks: {
    code: string
    name: string
  }[]
}

export interface RefundRequest {
  /** In the lowest denomination. Absent: the whole amount that can still be refunded. */
  amount?: number | null
  reason?: string | null
  /** The number of the customer’s bank account. It is encrypted, and deleted as soon as the provider has it. */
  destinationAccountNumber?: string | null
  /** The code of the customer’s bank: see `GET /payments/{reference}/refund-account`. */
  destinationAccountBankCode?: string | null
  /**
   * Without an Idempotency-Key, the same amount of the same payment within a minute is rejected as
   * `duplicate_refund`. `true` allows it. `false` rejects it also with a key.
   */
  allowDuplicate?: boolean | null
}

export interface RefundEnd {
  /** What the provider’s dashboard shows. No personal data of customers. */
  note: string
}

export interface RefundRetry {
  /** The number of the customer’s bank account. It is encrypted, and deleted as soon as the provider has it. */
  destinationAccountNumber: string
  /** The code of the customer’s bank: see `GET /payments/{reference}/refund-account`. */
  destinationAccountBankCode: string
}

export interface Refund {
  id: string
  /** Id of the payment. */
  payment: string
  amount: number
  currency: string
  /**
   * `merchant`: requested through this API. `surplus`: made by Manilla, because the payment had already been
   * paid. `provider`: made at the provider, for example in its dashboard, or by hand. `chargeback`: taken by
   * the customer’s bank after a lost dispute.
   */
  kind: 'merchant' | 'surplus' | 'provider' | 'chargeback'
  status: 'pending' | 'successful' | 'failed'
  reason: string | null
  failure: string | null
  /**
   * Why a person must check this refund. `refund_unfinished: …`: the provider has not finished it in time (3
   * days, longer for some providers). `refund_needs_account: …`: the provider waits for the customer’s bank
   * account, see `POST /refunds/{id}/retry`. `unanswered: …`: the provider was asked for it and does not list
   * it, see `POST /refunds/{id}/end`.
   */
  needsReview: string | null
  createdAt: string
  resolvedAt: string | null
}

export interface Case {
  id: string
  mode: 'sandbox' | 'live'
  /** Why a person must decide. A subject has one open case for each reason. */
  reason: 'unmatched_money' | 'contradiction' | 'missing_at_provider' | 'unanswered' | 'refund_mismatch' | 'refund_failed' | 'surplus' | 'underpaid' | 'settlement_difference' | 'review'
  subject: {
    /** What the case is about. */
    kind: 'attempt' | 'receipt' | 'refund' | 'dispute' | 'notice' | 'account' | 'settlement'
    /** Its id; for an account, the name of the provider. */
    id: string
    /** The attempt’s reference, or the provider’s id. */
    reference: string | null
  }
  /** Reference of the payment. */
  payment: string | null
  provider: string | null
  /** The money at stake, in the lowest denomination. */
  amount: number | null
  currency: string | null
  /** What happened, for a person. */
  summary: string
  /**
   * What can be done, besides `close`: by a call of its own, which closes the case. `return` is under Transfers
   * in the dashboard.
   */
  suggestions: ('match' | 'return' | 'refund' | 'retry_refund' | 'end_refund' | 'ask_again' | 'close')[]
  status: 'open' | 'closed'
  /** What the person found who closed it. */
  note: string | null
  openedAt: string
  closedAt: string | null
  /** Who closed it. `books`: the records agree again. */
  closedBy: string | null
}

export interface CaseClosing {
  /** What you found. No personal data of customers. */
  note: string
}

export interface Dispute {
  id: string
  /** Reference of the payment. */
  payment: string
  /** Id of the attempt that brought the money. */
  attempt: string
  /** The disputed amount, in the lowest denomination. */
  amount: number
  currency: string
  /**
   * `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and
   * is part of the payment’s `amountRefunded`.
   */
  status: 'open' | 'won' | 'lost'
  /** The reason, as the provider gives it. */
  reason: string | null
  /** Answer the dispute at the provider before this time. */
  respondBy: string | null
  openedAt: string
  resolvedAt: string | null
}

export interface Settlement {
  id: string
  mode: 'sandbox' | 'live'
  provider: string
  /** The provider’s own id. */
  providerId: string
  /**
   * `pending`: not paid out yet, or held back. `paid`: sent to the bank account. `failed`: the bank sent it
   * back, or it was cancelled.
   */
  status: 'pending' | 'paid' | 'failed'
  /** Why it failed or is held back, in the provider’s words. */
  because: string | null
  currency: string
  /** What customers paid, less what was given back to them by name. In the lowest denomination. */
  gross: number | null
  /** What the provider kept. */
  fees: number | null
  /** What was kept back besides, and no line names. */
  deductions: number | null
  /** What reaches the bank account. */
  net: number | null
  expectedOn: string | null
  paidAt: string | null
  madeAt: string
  bankReference: string | null
  /** Null: the provider does not say which payments it is for, or they are not read yet. */
  lines: {
    count?: number
    /** Lines of payments, refunds and disputes that are none of yours here. */
    foreign?: number
  } | null
  /** The credit on the bank statement that was uploaded. */
  bankCredit: {
    id?: string
    day?: string
  } | null
  /** What does not add up, with both numbers. There is a case, too. */
  difference: string | null
}

export interface SettlementLine {
  /** What it is about. A dispute above 0 was won again. */
  kind: 'payment' | 'refund' | 'dispute' | 'fee' | 'adjustment'
  /** Reference of your payment. Null: it names none of yours. */
  payment: string | null
  paymentId: string | null
  /** At the provider. */
  transactionId: string | null
  /** `providerReference` of the attempt. */
  orderReference: string | null
  /** Below 0: taken from the payout. */
  gross: number
  /** Null: the provider does not say. */
  fee: number | null
  /** `gross` less `fee`. */
  net: number | null
}

export interface BankStatement {
  /** The file, with its header. Commas, semicolons or tabs. */
  csv: string
  /** Of the account. Default: NGN. */
  currency?: string | null
  /** Absent: those of your last statement. */
  columns?: {
    /** The name of the column with the day. */
    date: string
    /** The name of the column with the amount. Empty, 0 and negative ones are no credits. */
    amount: string
    /** Of days like 03/04/2026. Default: `day-month`. */
    dateOrder?: 'day-month' | 'month-day'
  }
}

export interface BankCreditAssignment {
  /** The `stl_` id. Null: none. */
  settlement: string | null
}

export interface Card {
  id: string
  provider: string
  /** The `user.id` that the card belongs to. Null: the e-mail address. */
  userId: string | null
  /** The e-mail address that the card was saved with. */
  email: string
  brand: string
  last4: string
  expiryMonth: number
  expiryYear: number
  createdAt: string
}

export interface QuoteRequest {
  /** Amount to charge, in the lowest denomination of the currency (kobo for NGN). */
  amount: number
  /** ISO 4217, any case. Absent, null or empty: NGN. */
  currency?: string | null
  /** Country that the payment is processed for: ISO 3166-1 alpha-2, alpha-3 or English short name, any case. */
  country: string
  /** The customer pays the provider’s fee on top of the amount. */
  customerBearsCharge?: boolean | null
}

export interface OfferedChannel {
  /** The `provider` to send to `POST /payments/v1/payments/initialize`. */
  provider: string
  channel: 'card' | 'virtual-bank-account' | 'mobile-money' | 'ussd' | 'bank' | 'qr'
  /** For people, in English. */
  title: string
  country: string
  currency: string
  /** What the customer can be charged at once. `null`: the provider names no limits. */
  limits: {
    min?: number
    max?: number
  } | null
  /**
   * What to send to initialize, besides what every payment needs: `phoneNumber`, `network`,
   * `preAuthorisationCode`, `bank`.
   */
  fields: string[]
  networks: {
    /** The `network` to send. */
    code: string
    name: string
    /** Whether it needs a phone number. `false`: the customer pays from the menu of the network. */
    phoneNumber: boolean
    /** Whether it needs a `preAuthorisationCode`, which the customer makes on the phone first. */
    preAuthorisationCode: boolean
    /** Whether it takes payments now. `false`: show it, so that customers do not look for it. */
    available: boolean
  }[]
  /** How the customer makes a `preAuthorisationCode`, in the words of the provider. */
  codeHelp: string | null
  /** The prefix of phone numbers of the country. */
  phonePrefix: string | null
  /** The `bank` to send is the code. */
  banks: {
    code: string
    name: string
  }[]
  /** How long the customer has. `null`: until the payment ends. */
  lifetimeSeconds: number | null
}

export interface IntegrationRequest {
  /**
   * Keys and ids from the provider’s dashboard. Secrets are stored encrypted and never shown again. Settings
   * that you leave out stay unchanged; an empty string removes an optional one. With another `baseURL` every
   * secret must be sent again.
   */
  settings?: Record<string, string | null> | null
  /**
   * Another base URL for the provider’s API. Absent or null: unchanged. Empty: the provider’s default. In live
   * mode https only.
   */
  baseURL?: string | null
  /** The channels to use it for. Absent or null: unchanged (a new integration uses all). Empty: all. */
  channels?: string[] | null
  /**
   * The countries to use it in: alpha-2, alpha-3 or English name. Absent or null: unchanged (a new integration
   * uses all). Empty: all.
   */
  countries?: string[] | null
  /** The currencies to use it for. Absent or null: unchanged (a new integration uses all). Empty: all. */
  currencies?: string[] | null
  /**
   * The integration with the lowest number is used first. Absent or null: unchanged (a new integration has
   * 100).
   */
  priority?: number | null
}

export interface Integration {
  provider: string
  /** `false` when the integration was removed. */
  enabled: boolean
  /** The settings that are not secret. */
  settings: Record<string, string>
  /** Names of the secrets that are set. Their values are never shown. */
  secretsSet: string[]
  /** `null` when the provider is part of this service. */
  baseURL: string | null
  channels: ('card' | 'virtual-bank-account' | 'mobile-money' | 'ussd' | 'bank' | 'qr')[]
  countries: string[]
  currencies: string[]
  /** The integration with the lowest number is used first. */
  priority: number
  /** Enter it in the provider’s dashboard as the webhook URL. */
  noticeURL: string
  createdAt: string
  updatedAt: string
}

export interface EndpointRequest {
  /** The URL that receives the events. In live mode https only. */
  url: string
  /** The events to send. Empty or absent: all events, including types that are added later. */
  events?: ('payment.successful' | 'payment.cancelled' | 'payment.expired' | 'payment.underpaid' | 'payment.overpaid' | 'payment.surplus' | 'attempt.failed' | 'refund.successful' | 'refund.failed' | 'refund.needs_review' | 'dispute.opened' | 'dispute.updated' | 'dispute.won' | 'dispute.lost' | 'case.opened' | 'case.closed' | 'settlement.paid' | 'settlement.difference')[] | null
  enabled?: boolean | null
}

export interface EndpointChanges {
  /** The URL that receives the events. In live mode https only. */
  url?: string | null
  /** The events to send. Empty or absent: all events, including types that are added later. */
  events?: ('payment.successful' | 'payment.cancelled' | 'payment.expired' | 'payment.underpaid' | 'payment.overpaid' | 'payment.surplus' | 'attempt.failed' | 'refund.successful' | 'refund.failed' | 'refund.needs_review' | 'dispute.opened' | 'dispute.updated' | 'dispute.won' | 'dispute.lost' | 'case.opened' | 'case.closed' | 'settlement.paid' | 'settlement.difference')[] | null
  enabled?: boolean | null
}

export interface Endpoint {
  id: string
  url: string
  events: string[]
  enabled: boolean
  disabledReason: string | null
  failingSince: string | null
  createdAt: string
}

export interface RedeliverRequest {
  /** Exhausted at or after: RFC 3339, or a date. */
  from: string
  /** Exhausted before. Absent: now. */
  to?: string | null
}

/** The error format of RFC 9457. */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  instance: string
  code: 'malformed_json' | 'invalid_request' | 'unknown_field' | 'unknown_network' | 'invalid_credentials' | 'credential_expired' | 'address_not_allowed' | 'insufficient_scope' | 'merchant_suspended' | 'not_found' | 'method_not_allowed' | 'conflict' | 'duplicate_reference' | 'duplicate_refund' | 'reference_conflict' | 'attempt_in_progress' | 'too_many_attempts' | 'refund_needs_no_account' | 'too_many_refunds' | 'too_many_endpoints' | 'too_many_links' | 'idempotency_in_progress' | 'input_not_expected' | 'input_refused' | 'payment_not_completed' | 'payment_already_completed' | 'payment_cancelled' | 'payment_expired' | 'body_too_large' | 'headers_too_large' | 'unsupported_media_type' | 'no_integration_available' | 'unknown_provider' | 'provider_not_configured' | 'currency_not_supported' | 'amount_out_of_range' | 'refund_account_required' | 'refund_exceeds_payment' | 'provider_error' | 'provider_timeout' | 'idempotency_key_reused' | 'rate_limited' | 'request_timeout' | 'internal_error' | 'unavailable'
  errors?: {
    /** JSON pointer to the field. */
    pointer: string
    code: string
    message: string
  }[]
  /** The same request may succeed later. */
  retryable: boolean
  requestId: string
}

export type ProblemCode = Problem['code']

/** Query, body and answer of each operation, by its id. */
export interface Operations {
  createCheckout: {
    body: CheckoutRequest
    answer: {
      data: Checkout
    }
  }
  createLink: {
    body: LinkRequest
    answer: {
      data: Link
    }
  }
  listLinks: {
    query: {
      /** 1 to 100; default 20. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    }
    answer: {
      data: Link[]
      nextCursor: string | null
    }
  }
  getLink: {
    answer: {
      data: Link
    }
  }
  changeLink: {
    body: LinkChanges
    answer: {
      data: Link
    }
  }
  initializePayment: {
    body: InitializeRequest
    answer: {
      data: Initialized
    }
  }
  getPayment: {
    answer: {
      data: Payment
    }
  }
  cancelPayment: {
    answer: {
      data: Payment
    }
  }
  getTimeline: {
    answer: {
      data: {
        at: string
        /** `request`, `change`, `call`, `notice`, `money` or `refund`. */
        kind: string
        what: string
        attempt: string | null
        detail: Record<string, unknown>
      }[]
      nextCursor: null
    }
  }
  listPayments: {
    query: {
      /**
       * Reference, id, e-mail address, account number, reference or transaction at the provider, short code,
       * decline code, or last four digits of a saved card.
       */
      q?: string
      status?: 'pending' | 'successful' | 'cancelled' | 'expired'
      /** E-mail address of the customer, any case. */
      email?: string
      /** Your own id of the customer. */
      userId?: string
      /** Created at or after: RFC 3339, or a date. */
      from?: string
      /** Created before: RFC 3339, or a date. */
      to?: string
      /** 1 to 100; default 20. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    }
    answer: {
      data: Payment[]
      nextCursor: string | null
    }
  }
  createWidgetToken: {
    answer: {
      data: WidgetToken
    }
  }
  submitInput: {
    body: InputRequest
    answer: {
      data: Payment
    }
  }
  refundPayment: {
    body: RefundRequest
    answer: {
      data: Refund
    }
  }
  listRefunds: {
    answer: {
      data: Refund[]
      nextCursor: null
    }
  }
  getRefund: {
    answer: {
      data: Refund
    }
  }
  retryRefund: {
    body: RefundRetry
    answer: {
      data: Refund
    }
  }
  endRefund: {
    body: RefundEnd
    answer: {
      data: Refund
    }
  }
  getRefundAccount: {
    query: {
      /**
       * The `att_` id of an attempt of this payment, to return surplus or other money that did not pay it. Default:
       * the attempt that paid.
       */
      attempt?: string
    }
    answer: {
      data: RefundAccount
    }
  }
  listCases: {
    query: {
      status?: 'open' | 'closed'
      reason?: 'unmatched_money' | 'contradiction' | 'missing_at_provider' | 'unanswered' | 'refund_mismatch' | 'refund_failed' | 'surplus' | 'underpaid' | 'settlement_difference' | 'review'
      /** Reference of a payment or attempt, or the `chk_` id. */
      payment?: string
      /** Opened at this time or later. */
      from?: string
      /** Opened before this time. */
      to?: string
      /** 1 to 100; default 20. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    }
    answer: {
      data: Case[]
      nextCursor: string | null
    }
  }
  getCase: {
    answer: {
      data: Case
    }
  }
  closeCase: {
    body: CaseClosing
    answer: {
      data: Case
    }
  }
  listDisputes: {
    query: {
      status?: 'open' | 'won' | 'lost'
      /** Reference of a payment or attempt, or the `chk_` id. */
      payment?: string
      /** 1 to 100; default 20. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    }
    answer: {
      data: Dispute[]
      nextCursor: string | null
    }
  }
  getDispute: {
    answer: {
      data: Dispute
    }
  }
  listSettlements: {
    query: {
      status?: 'pending' | 'paid' | 'failed'
      provider?: string
      currency?: string
      /** Made at or after: RFC 3339, or a date. */
      from?: string
      /** Made before: RFC 3339, or a date. */
      to?: string
      /** Only paid ones that no bank statement shows. */
      withoutBankCredit?: 'true'
      /** 1 to 100; default 20. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    }
    answer: {
      data: Settlement[]
      nextCursor: string | null
    }
  }
  listUnsettled: {
    query: {
      provider?: string
      /** Only those that are usually settled by now. */
      late?: 'true'
      /** 1 to 100; default 20. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    }
    answer: {
      data: {
        /** Reference of the payment. Null: money of none, see Transfers. */
        payment: string | null
        paymentId: string | null
        provider: string
        transactionId: string
        amount: number
        currency: string
        takenAt: string
        /** By the provider’s usual delay, in working days. */
        expectedOn: string
        late: boolean
      }[]
      nextCursor: string | null
    }
  }
  sumUnsettled: {
    answer: {
      data: {
        provider: string
        currency: string
        /** Working days from a payment to its settlement. */
        usualDays: number
        payments: number
        /** What was paid and no settlement has, before fees. */
        amount: number
        /** Of those payments: usually settled by now. */
        late: number
        lateAmount: number
        /** Refunds and chargebacks that no settlement has deducted by name. */
        refunds: number
        refundAmount: number
      }[]
      nextCursor: null
    }
  }
  sumChargedFees: {
    query: {
      /** The first day. */
      from: string
      /** The day after the last one: at most 366 later. */
      to: string
    }
    answer: {
      data: {
        provider: string
        currency: string
        /** In UTC: 2026-11. */
        month: string
        /** With a known fee of the provider. */
        payments: number
        gross: number
        /** As calculated when the customer paid. */
        fees: number
        /** As the provider kept them. */
        feesCharged: number
      }[]
      nextCursor: null
    }
  }
  refreshSettlements: {
    answer: {
      data: {
        /** Accounts whose list is read now. 0: each was read in the last minute. */
        due: number
      }
    }
  }
  getSettlement: {
    answer: {
      data: {
        id: string
        mode: 'sandbox' | 'live'
        provider: string
        /** The provider’s own id. */
        providerId: string
        /**
         * `pending`: not paid out yet, or held back. `paid`: sent to the bank account. `failed`: the bank sent it
         * back, or it was cancelled.
         */
        status: 'pending' | 'paid' | 'failed'
        /** Why it failed or is held back, in the provider’s words. */
        because: string | null
        currency: string
        /** What customers paid, less what was given back to them by name. In the lowest denomination. */
        gross: number | null
        /** What the provider kept. */
        fees: number | null
        /** What was kept back besides, and no line names. */
        deductions: number | null
        /** What reaches the bank account. */
        net: number | null
        expectedOn: string | null
        paidAt: string | null
        madeAt: string
        bankReference: string | null
        /** Null: the provider does not say which payments it is for, or they are not read yet. */
        lines: {
          count?: number
          /** Lines of payments, refunds and disputes that are none of yours here. */
          foreign?: number
        } | null
        /** The credit on the bank statement that was uploaded. */
        bankCredit: {
          id?: string
          day?: string
        } | null
        /** What does not add up, with both numbers. There is a case, too. */
        difference: string | null
        /** The lines by what they are about. */
        sums: {
          kind: 'payment' | 'refund' | 'dispute' | 'fee' | 'adjustment'
          count: number
          gross: number
          fees: number
          net: number
        }[]
      }
    }
  }
  listSettlementLines: {
    query: {
      /** Only lines that name no payment of yours. */
      foreign?: 'true'
      /** 1 to 100; default 20. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    }
    answer: {
      data: SettlementLine[]
      nextCursor: string | null
    }
  }
  uploadBankStatement: {
    body: BankStatement
    answer: {
      data: {
        /** Lines with a credit. */
        credits: number
        /** Lines without one. */
        skipped: number
        /** Of the credits: not on record before. */
        added: number
        /** Settlements that have found their credit now. */
        matched: number
      }
    }
  }
  getBankColumns: {
    answer: {
      data: {
        /** The name of the column with the day. */
        date: string
        /** The name of the column with the amount. Empty, 0 and negative ones are no credits. */
        amount: string
        /** Of days like 03/04/2026. Default: `day-month`. */
        dateOrder: 'day-month' | 'month-day'
      } | null
    }
  }
  listBankCredits: {
    query: {
      /** Only those without a settlement. */
      unmatched?: 'true'
      /** 1 to 100; default 20. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    }
    answer: {
      data: {
        id: string
        day: string
        amount: number
        currency: string
        /** Its line in the file. */
        line: number
        /** The settlement that it is. Null: none was found, or several fit. */
        settlement: string | null
      }[]
      nextCursor: string | null
    }
  }
  assignBankCredit: {
    body: BankCreditAssignment
    answer: {
      data: {
        id: string
        settlement: string | null
      }
    }
  }
  listCards: {
    query: {
      /** Cards saved with this `user.id`. */
      userId?: string
      /** Cards saved without a `user.id` under this e-mail address (case-insensitive). */
      email?: string
    }
    answer: {
      data: Card[]
      nextCursor: null
    }
  }
  deleteCard: {
    answer: {
      data: Card
    }
  }
  listIntegrations: {
    query: {
      country?: string
      currency?: string
    }
    answer: {
      data: {
        provider: string
        channels: ('card' | 'virtual-bank-account' | 'mobile-money' | 'ussd' | 'bank' | 'qr')[]
        countries: string[]
        currencies: string[]
        /** The integration with the lowest number is used first. */
        priority: number
      }[]
      nextCursor: null
    }
  }
  getIntegration: {
    answer: {
      data: Integration
    }
  }
  setIntegration: {
    body: IntegrationRequest
    answer: {
      data: Integration
      /** `null` when the provider accepts the keys, or the request set none. */
      warning: {
        code: 'keys_refused' | 'keys_not_checked'
        message: string
      } | null
    }
  }
  removeIntegration: {
    answer: {
      data: Integration
    }
  }
  checkIntegration: {
    answer: {
      data: {
        /** `unknown`: the provider did not answer. Try again. */
        keys: 'good' | 'bad' | 'unknown'
        /** Why they are bad, or why the check failed. */
        reason: string | null
      }
    }
  }
  quoteFees: {
    body: QuoteRequest
    answer: {
      data: {
        provider: string
        channel: 'card' | 'virtual-bank-account' | 'mobile-money' | 'ussd' | 'bank' | 'qr'
        fee: number
        /** The amount that the customer pays. */
        amountCharged: number
        /** The amount that the merchant gets. */
        amountSettled: number
      }[]
      nextCursor: null
    }
  }
  listChannels: {
    query: {
      /** Of the payment, like GH. */
      country: string
      /** Absent: all that your integrations take there. */
      currency?: string
    }
    answer: {
      data: OfferedChannel[]
      nextCursor: null
    }
  }
  listWebhookEndpoints: {
    answer: {
      data: Endpoint[]
      nextCursor: null
    }
  }
  createWebhookEndpoint: {
    body: EndpointRequest
    answer: {
      data: {
        id: string
        url: string
        events: string[]
        enabled: boolean
        disabledReason: string | null
        failingSince: string | null
        createdAt: string
        /** Signs the events of this endpoint. It is shown only once. */
        secret: string
      }
    }
  }
  changeWebhookEndpoint: {
    body: EndpointChanges
    answer: {
      data: Endpoint
    }
  }
  deleteWebhookEndpoint: {
    answer: {
      data: Endpoint
    }
  }
  rotateWebhookEndpointSecret: {
    answer: {
      data: {
        /** It is shown only once. The previous secret also signs for 24 hours. */
        secret: string
        previousValidUntil: string
      }
    }
  }
  testWebhookEndpoint: {
    answer: {
      data: {
        delivered: boolean
        status: number | null
        error: string | null
        tookMs: number
        /** The first 2 KiB of the response. */
        answer: string
      }
    }
  }
  rotateWebhookSecret: {
    answer: {
      data: {
        /** It is shown only once. The previous secret also signs for 24 hours. */
        secret: string
        previousValidUntil: string
      }
    }
  }
  listEvents: {
    query: {
      /** Reference of a payment or attempt, or the `chk_` id. */
      payment?: string
      type?: 'payment.successful' | 'payment.cancelled' | 'payment.expired' | 'payment.underpaid' | 'payment.overpaid' | 'payment.surplus' | 'attempt.failed' | 'refund.successful' | 'refund.failed' | 'refund.needs_review' | 'dispute.opened' | 'dispute.updated' | 'dispute.won' | 'dispute.lost' | 'case.opened' | 'case.closed' | 'settlement.paid' | 'settlement.difference'
      /** 1 to 100; default 20. */
      limit?: number
      /** `nextCursor` of the previous page. */
      cursor?: string
    }
    answer: {
      data: Record<string, unknown>[]
      nextCursor: string | null
    }
  }
  getEvent: {
    answer: {
      data: {
        /** The event as it is sent. See the webhooks section for `data` of each type. */
        event: Record<string, unknown>
        deliveries: {
          id: string
          endpoint: string | null
          url: string
          state: 'waiting' | 'delivered' | 'exhausted' | 'disabled'
          nextTryAt: string | null
          tries: {
            number: number
            at: string
            status: number | null
            error: string | null
            tookMs: number
            answer: string
          }[]
        }[]
      }
    }
  }
  redeliverEvent: {
    answer: {
      data: {
        /** The number of deliveries that are sent again, at most 50 000. Repeat the call when there are more. */
        deliveries: number
      }
    }
  }
  redeliverGivenUp: {
    body: RedeliverRequest
    answer: {
      data: {
        /** The number of deliveries that are sent again, at most 50 000. Repeat the call when there are more. */
        deliveries: number
      }
    }
  }
  exportPayments: {
    query: {
      /**
       * Reference, id, e-mail address, account number, reference or transaction at the provider, short code,
       * decline code, or last four digits of a saved card.
       */
      q?: string
      status?: 'pending' | 'successful' | 'cancelled' | 'expired'
      /** Of any attempt. */
      provider?: string
      /** Of any attempt. */
      channel?: 'card' | 'virtual-bank-account' | 'mobile-money' | 'ussd' | 'bank' | 'qr'
      currency?: string
      /** At least, in the lowest denomination. */
      amountFrom?: string
      /** At most, in the lowest denomination. */
      amountTo?: string
      /** Created at or after: RFC 3339, or a date. */
      from?: string
      /** Created before: RFC 3339, or a date. */
      to?: string
      /** Paid after they were cancelled or had expired. */
      late?: 'true'
      /** A person must check them. */
      needsReview?: 'true'
      /**
       * Names with commas, in the order of the file. Absent: all, which are id, reference, status, late,
       * needsReview, amount, amountPaid, amountRefunded, fee, feeCharged, currency, country, email, name,
       * phoneNumber, userId, attempts, lastStatus, lastProvider, lastChannel, lastFailure, metadata, createdAt,
       * expiresAt, completedAt.
       */
      columns?: string
      /** Begin with a byte order mark: Excel needs it to read UTF-8. */
      bom?: 'true'
    }
    answer: string
  }
  exportRefunds: {
    query: {
      status?: 'pending' | 'successful' | 'failed'
      /**
       * Names with commas, in the order of the file. Absent: all, which are id, payment, paymentReference, status,
       * kind, amount, currency, email, provider, reason, failure, needsReview, createdAt, resolvedAt.
       */
      columns?: string
      /** Begin with a byte order mark: Excel needs it to read UTF-8. */
      bom?: 'true'
    }
    answer: string
  }
  exportTransfers: {
    query: {
      /**
       * Names with commas, in the order of the file. Absent: all, which are id, kind, amount, currency, provider,
       * transactionId, payment, paymentReference, paymentStatus, email, due, received, failure, at.
       */
      columns?: string
      /** Begin with a byte order mark: Excel needs it to read UTF-8. */
      bom?: 'true'
    }
    answer: string
  }
  exportDeliveries: {
    query: {
      /** `retrying`: waiting after a failed try. `given-up`: exhausted, or its endpoint is disabled. */
      state?: 'retrying' | 'given-up'
      /**
       * Names with commas, in the order of the file. Absent: all, which are id, event, payment, type, endpoint,
       * url, state, tries, lastStatus, lastError, nextTryAt, createdAt.
       */
      columns?: string
      /** Begin with a byte order mark: Excel needs it to read UTF-8. */
      bom?: 'true'
    }
    answer: string
  }
  exportSettlements: {
    query: {
      status?: 'pending' | 'paid' | 'failed'
      provider?: string
      currency?: string
      /** Made at or after: RFC 3339, or a date. */
      from?: string
      /** Made before: RFC 3339, or a date. */
      to?: string
      /**
       * Names with commas, in the order of the file. Absent: all, which are id, provider, providerId, status,
       * currency, gross, fees, deductions, net, grossDecimal, feesDecimal, deductionsDecimal, netDecimal,
       * expectedOn, paidOn, paidAt, madeAt, bankReference, bankDay, lines, foreignLines, difference.
       */
      columns?: string
      /** Begin with a byte order mark: Excel needs it to read UTF-8. */
      bom?: 'true'
    }
    answer: string
  }
  exportSettlementLines: {
    query: {
      status?: 'pending' | 'paid' | 'failed'
      provider?: string
      currency?: string
      /** Made at or after: RFC 3339, or a date. */
      from?: string
      /** Made before: RFC 3339, or a date. */
      to?: string
      /** The `stl_` id. Absent: the lines of all. */
      settlement?: string
      /**
       * Names with commas, in the order of the file. Absent: all, which are settlement, provider, status, paidOn,
       * kind, payment, paymentReference, transactionId, orderReference, currency, gross, fee, net, grossDecimal,
       * feeDecimal, netDecimal.
       */
      columns?: string
      /** Begin with a byte order mark: Excel needs it to read UTF-8. */
      bom?: 'true'
    }
    answer: string
  }
}

/** The body of each webhook, by its type. */
export interface WebhookEvents {
  'payment.successful': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'payment.successful'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
    }
  }
  'payment.cancelled': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'payment.cancelled'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
    }
  }
  'payment.expired': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'payment.expired'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
    }
  }
  'payment.underpaid': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'payment.underpaid'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      missing: {
        amount: number
        currency: string
      }
    }
  }
  'payment.overpaid': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'payment.overpaid'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      excess: {
        amount: number
        currency: string
      }
    }
  }
  'payment.surplus': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'payment.surplus'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      surplus: {
        amount: number
        currency: string
      }
    }
  }
  'attempt.failed': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'attempt.failed'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
    }
  }
  'refund.successful': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'refund.successful'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      refund: Refund
    }
  }
  'refund.failed': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'refund.failed'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      refund: Refund
    }
  }
  'refund.needs_review': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'refund.needs_review'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      refund: Refund
    }
  }
  'dispute.opened': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'dispute.opened'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      /** A dispute without `payment` and `attempt`, which stand beside it. */
      dispute: {
        id: string
        /** The disputed amount, in the lowest denomination. */
        amount: number
        currency: string
        /**
         * `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and
         * is part of the payment’s `amountRefunded`.
         */
        status: 'open' | 'won' | 'lost'
        /** The reason, as the provider gives it. */
        reason: string | null
        /** Answer the dispute at the provider before this time. */
        respondBy: string | null
        openedAt: string
        resolvedAt: string | null
      }
    }
  }
  'dispute.updated': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'dispute.updated'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      /** A dispute without `payment` and `attempt`, which stand beside it. */
      dispute: {
        id: string
        /** The disputed amount, in the lowest denomination. */
        amount: number
        currency: string
        /**
         * `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and
         * is part of the payment’s `amountRefunded`.
         */
        status: 'open' | 'won' | 'lost'
        /** The reason, as the provider gives it. */
        reason: string | null
        /** Answer the dispute at the provider before this time. */
        respondBy: string | null
        openedAt: string
        resolvedAt: string | null
      }
    }
  }
  'dispute.won': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'dispute.won'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      /** A dispute without `payment` and `attempt`, which stand beside it. */
      dispute: {
        id: string
        /** The disputed amount, in the lowest denomination. */
        amount: number
        currency: string
        /**
         * `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and
         * is part of the payment’s `amountRefunded`.
         */
        status: 'open' | 'won' | 'lost'
        /** The reason, as the provider gives it. */
        reason: string | null
        /** Answer the dispute at the provider before this time. */
        respondBy: string | null
        openedAt: string
        resolvedAt: string | null
      }
    }
  }
  'dispute.lost': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'dispute.lost'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number
    data: {
      payment: Payment
      attempt: Attempt
      /** A dispute without `payment` and `attempt`, which stand beside it. */
      dispute: {
        id: string
        /** The disputed amount, in the lowest denomination. */
        amount: number
        currency: string
        /**
         * `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and
         * is part of the payment’s `amountRefunded`.
         */
        status: 'open' | 'won' | 'lost'
        /** The reason, as the provider gives it. */
        reason: string | null
        /** Answer the dispute at the provider before this time. */
        respondBy: string | null
        openedAt: string
        resolvedAt: string | null
      }
      refund: Refund
    }
  }
  'case.opened': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'case.opened'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number | null
    data: {
      payment: Payment | null
      case: Case
    }
  }
  'case.closed': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'case.closed'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number | null
    data: {
      payment: Payment | null
      case: Case
    }
  }
  'settlement.paid': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'settlement.paid'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number | null
    data: {
      payment: Payment | null
      settlement: Settlement
    }
  }
  'settlement.difference': {
    /** The same for each try. Handle each id once. */
    id: string
    type: 'settlement.difference'
    timestamp: string
    mode: 'sandbox' | 'live'
    /** Rises with each change of the payment. */
    sequence: number | null
    data: {
      payment: Payment | null
      settlement: Settlement
    }
  }
}

/** Discriminated by `type`. More types will be added: accept one that you do not know. */
export type WebhookEvent = WebhookEvents[keyof WebhookEvents]
