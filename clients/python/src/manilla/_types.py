# Emitted from docs/openapi.json by `npm run openapi`. Do not edit.
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


class _CheckoutRequestUserRequired(TypedDict):
    #: E-mail address of the customer. Stored as given, compared case-insensitively.
    email: str


class CheckoutRequestUser(_CheckoutRequestUserRequired, total=False):
    #: Your own id of a customer who is signed in with you: 1 to 64 characters of `A-Z a-z 0-9 _ . : @ -`. Saved
    #: cards belong to it. The payment page offers saved cards only for a payment that has it. Never take it from
    #: user input.
    id: Optional[str]
    #: Phone number of the customer.
    phoneNumber: Optional[str]
    #: Name of the customer.
    name: Optional[str]


class _CheckoutRequestRequired(TypedDict):
    #: Amount to charge, in the lowest denomination of the currency (kobo for NGN).
    amount: int
    #: The customer.
    user: CheckoutRequestUser
    #: Country that the payment is processed for: ISO 3166-1 alpha-2, alpha-3 or English short name, any case.
    country: str


class CheckoutRequest(_CheckoutRequestRequired, total=False):
    #: Your own reference, unique for each payment: 1 to 100 printable ASCII characters without spaces. Absent:
    #: Manilla generates one.
    reference: Optional[str]
    #: ISO 4217, any case. Absent, null or empty: NGN.
    currency: Optional[str]
    #: The customer returns here after the payment, with `status` and `reference` as query parameters. In live mode
    #: https only.
    redirectURL: Optional[str]
    #: The customer pays the provider’s fee on top of the amount.
    customerBearsCharge: Optional[bool]
    #: Receives the events of this payment. In live mode https only.
    webhook: Optional[str]
    #: A flat object of strings. It is returned with the payment and in webhooks.
    metadata: Optional[Dict[str, str]]
    #: Seconds until the link expires.
    expiresIn: Optional[int]


class Checkout(TypedDict):
    #: Identifier of the checkout; `url` ends with it.
    id: str
    #: Long link to the payment page.
    url: str
    #: Short link to the payment page.
    shortURL: str
    #: Reference of the payment: yours, or the generated one.
    reference: str
    #: Amount of the payment.
    amount: int


class _LinkRequestRequired(TypedDict):
    #: What the customer pays for. The page shows it as its heading.
    title: str
    #: Country that the payment is processed for: ISO 3166-1 alpha-2, alpha-3 or English short name, any case.
    country: str


class LinkRequest(_LinkRequestRequired, total=False):
    #: ISO 4217, any case. Absent, null or empty: NGN.
    currency: Optional[str]
    #: Shown below the title.
    description: Optional[str]
    #: A fixed amount, in the lowest denomination of the currency. Absent: the customer chooses the amount.
    amount: Optional[int]
    #: The lowest amount that the customer may choose. Without `amount` only.
    minAmount: Optional[int]
    #: The highest amount that the customer may choose. Without `amount` only.
    maxAmount: Optional[int]
    #: The customer pays the provider’s fee on top of the amount.
    customerBearsCharge: Optional[bool]
    #: The page asks for the customer’s name.
    collectName: Optional[bool]
    #: The page asks for the customer’s phone number.
    collectPhoneNumber: Optional[bool]
    #: The label of one more field. The answer, at most 200 characters, is `metadata` of the payment, under this
    #: name.
    customField: Optional[str]
    #: The link is `used_up` after this many successful payments. A payment that was begun before can still be
    #: paid. Absent: any number.
    maxPayments: Optional[int]
    #: An inactive link takes no payments.
    active: Optional[bool]
    #: Seconds from now until the link expires. Absent: it does not expire.
    expiresIn: Optional[int]
    #: The customer returns here after the payment, with `status` and `reference` as query parameters. In live mode
    #: https only.
    redirectURL: Optional[str]
    #: A flat object of strings. It is returned with the payment and in webhooks.
    metadata: Optional[Dict[str, str]]


class LinkChanges(TypedDict, total=False):
    #: What the customer pays for. The page shows it as its heading.
    title: Optional[str]
    #: Shown below the title.
    description: Optional[str]
    #: A fixed amount, in the lowest denomination of the currency. Absent: the customer chooses the amount.
    amount: Optional[int]
    #: The lowest amount that the customer may choose. Without `amount` only.
    minAmount: Optional[int]
    #: The highest amount that the customer may choose. Without `amount` only.
    maxAmount: Optional[int]
    #: The customer pays the provider’s fee on top of the amount.
    customerBearsCharge: Optional[bool]
    #: The page asks for the customer’s name.
    collectName: Optional[bool]
    #: The page asks for the customer’s phone number.
    collectPhoneNumber: Optional[bool]
    #: The label of one more field. The answer, at most 200 characters, is `metadata` of the payment, under this
    #: name.
    customField: Optional[str]
    #: The link is `used_up` after this many successful payments. A payment that was begun before can still be
    #: paid. Absent: any number.
    maxPayments: Optional[int]
    #: An inactive link takes no payments.
    active: Optional[bool]
    #: Seconds from now until the link expires. Absent: it does not expire.
    expiresIn: Optional[int]
    #: The customer returns here after the payment, with `status` and `reference` as query parameters. In live mode
    #: https only.
    redirectURL: Optional[str]
    #: A flat object of strings. It is returned with the payment and in webhooks.
    metadata: Optional[Dict[str, str]]


class Link(TypedDict):
    id: str
    #: The page of the link, for customers.
    url: str
    mode: Union[Literal["sandbox"], Literal["live"]]
    #: `active`: it can be paid. `inactive`: switched off. `expired`: its time is over. `used_up`: paid
    #: `maxPayments` times.
    status: Literal["active", "inactive", "expired", "used_up"]
    title: str
    description: Optional[str]
    amount: Optional[int]
    minAmount: Optional[int]
    maxAmount: Optional[int]
    currency: str
    country: str
    customerBearsCharge: bool
    collectName: bool
    collectPhoneNumber: bool
    customField: Optional[str]
    maxPayments: Optional[int]
    #: Successful payments, counted up to 1000.
    timesPaid: int
    active: bool
    redirectURL: Optional[str]
    metadata: Dict[str, str]
    createdAt: str
    expiresAt: Optional[str]


class _InitializeRequestUserRequired(TypedDict):
    #: E-mail address of the customer. Stored as given, compared case-insensitively.
    email: str


class InitializeRequestUser(_InitializeRequestUserRequired, total=False):
    #: Your own id of a customer who is signed in with you: 1 to 64 characters of `A-Z a-z 0-9 _ . : @ -`. Saved
    #: cards belong to it. The payment page offers saved cards only for a payment that has it. Never take it from
    #: user input.
    id: Optional[str]
    #: Phone number of the customer.
    phoneNumber: Optional[str]
    #: Name of the customer.
    name: Optional[str]


class _InitializeRequestRequired(TypedDict):
    #: Name of a provider for its card channel, or the name followed by the channel: `-virtual-bank-account`,
    #: `-mobile-money`, `-ussd`, `-bank`, `-qr`.
    provider: str
    #: Amount to charge, in the lowest denomination of the currency (kobo for NGN).
    amount: int
    #: The customer.
    user: InitializeRequestUser


class InitializeRequest(_InitializeRequestRequired, total=False):
    #: Your own reference, unique for each payment: 1 to 100 printable ASCII characters without spaces. Absent:
    #: Manilla generates one.
    reference: Optional[str]
    #: The customer returns here after the payment, with `status` and `reference` as query parameters. In live mode
    #: https only.
    redirectURL: Optional[str]
    #: Receives the events of this payment. In live mode https only.
    webhook: Optional[str]
    #: ISO 4217, any case. Absent, null or empty: NGN.
    currency: Optional[str]
    #: Country that the payment is processed for: ISO 3166-1 alpha-2, alpha-3 or English short name, any case.
    country: Optional[str]
    #: The customer pays the provider’s fee on top of the amount.
    customerBearsCharge: Optional[bool]
    #: A flat object of strings. It is returned with the payment and in webhooks.
    metadata: Optional[Dict[str, str]]
    #: Seconds until the link expires.
    expiresIn: Optional[int]
    #: The customer agreed to save the card. Only for providers whose own page does not ask.
    saveCard: Optional[bool]
    #: mobile-money: the number that pays, as people write it. Absent: `user.phoneNumber`.
    phoneNumber: Optional[str]
    #: mobile-money: the network of the number. Absent: guessed from the number. See `GET /payments/v1/channels`.
    network: Optional[str]
    #: ussd and bank: the code of the customer’s bank, where the provider asks for it. See `GET
    #: /payments/v1/channels`.
    bank: Optional[str]
    #: mobile-money: a code that the customer made beforehand, where the network wants one.
    preAuthorisationCode: Optional[str]


class Initialized(TypedDict):
    provider: str
    channel: Literal["card", "virtual-bank-account", "mobile-money", "ussd", "bank", "qr"]
    #: Reference of the attempt. The widget accepts it.
    reference: str
    amount: int
    #: By channel. card: `message`, `link`, `reference`, `publicKey` (null while a saved card waits for a PIN or
    #: code). virtual-bank-account: `message`, `accountName`, `accountNumber`, `bankName`, `expiresAt`,
    #: `amountToTransfer`; `narration` where the transfer must have it, as by Pesalink; `dialCodes` (`bank`,
    #: `bankName`, `code`) where a bank makes the transfer when the customer dials. mobile-money: `message`,
    #: `phoneNumber` (masked), `network`, `expiresAt`; `link` where the network wants a page; `input` where it
    #: wants a code (`kind`: `otp` or `voucher`); `payTo` (`number`, `account`) where the customer pays from the
    #: network’s menu. ussd: `message`, `code` to dial, `bankName`, `expiresAt`. bank: `message`, `link`,
    #: `reference`, `publicKey`, `expiresAt`. qr: `message`, `qr` (the text to encode), `expiresAt`. ussd and qr
    #: have `link`, `reference` and `publicKey` where the provider has a page for them.
    data: Dict[str, Any]


class AttemptFailure(TypedDict, total=False):
    code: Literal["insufficient_funds", "card_declined", "card_expired", "card_not_supported", "incorrect_pin", "incorrect_otp", "authentication_failed", "limit_exceeded", "suspected_fraud", "invalid_token", "reversed", "amount_mismatch", "transfer_expired", "prompt_expired", "subscriber_unknown", "customer_cancelled", "provider_unavailable", "provider_error", "other"]
    #: For you, in English. The payment page shows its own text for `code`, in the customer’s language.
    message: str
    retryable: bool
    providerCode: Optional[str]


class AttemptPaidFrom(TypedDict, total=False):
    #: Masked.
    phoneNumber: Optional[str]
    network: Optional[str]
    #: The provider’s code of the bank.
    bank: Optional[str]


class Attempt(TypedDict):
    id: str
    #: The payment’s reference with a unique suffix.
    reference: str
    number: int
    provider: str
    channel: Literal["card", "virtual-bank-account", "mobile-money", "ussd", "bank", "qr"]
    #: `pending`: the customer has a link or an account number and has not paid yet. `processing`: the provider is
    #: working on it or did not answer, so the outcome is not known yet. `successful`: it paid the payment.
    #: `failed`: see `failure`; the customer can try again. `abandoned`: the payment ended in another way first.
    #: `surplus`: it was paid after the payment had already been paid; the money is refunded, or `needsReview` says
    #: why not.
    status: Literal["pending", "processing", "successful", "failed", "abandoned", "surplus"]
    #: The amount that the customer pays.
    amountCharged: int
    #: The provider’s fee, part of `amountCharged`.
    fee: int
    #: The fee that the provider really kept; null until it says so, see docs/settlements.md.
    feeCharged: Optional[int]
    #: The amount that has arrived through this attempt so far.
    amountReceived: int
    failure: Optional[AttemptFailure]
    #: Why a person must check this attempt.
    needsReview: Optional[str]
    providerReference: str
    #: What the customer gave for the channel.
    paidFrom: Optional[AttemptPaidFrom]
    #: How the customer pays: a link, an account to transfer to, a prompt on the phone, or a code.
    instructions: Optional[Dict[str, Any]]
    createdAt: str
    resolvedAt: Optional[str]


class PaymentUser(TypedDict):
    #: Your own id of the customer.
    id: Optional[str]
    email: str
    phoneNumber: Optional[str]
    name: Optional[str]


class Payment(TypedDict):
    id: str
    reference: str
    mode: Union[Literal["sandbox"], Literal["live"]]
    #: `pending`: not paid yet; a failed attempt leaves it `pending`. `successful`: paid. `cancelled`, `expired`:
    #: ended unpaid; money that arrives later still makes it `successful`, with `late: true`.
    status: Literal["pending", "successful", "cancelled", "expired"]
    #: The money arrived after the payment was cancelled or had expired.
    late: bool
    amount: int
    currency: str
    country: str
    customerBearsCharge: bool
    fee: Optional[int]
    #: The fee that the provider really kept. `fee` is the one that was calculated.
    feeCharged: Optional[int]
    amountCharged: Optional[int]
    amountPaid: int
    amountRefunded: int
    user: PaymentUser
    redirectURL: Optional[str]
    webhook: Optional[str]
    metadata: Dict[str, str]
    #: The id of the reusable link that the customer paid.
    link: Optional[str]
    url: str
    shortURL: str
    attempts: List[Attempt]
    refunds: List[Refund]
    createdAt: str
    expiresAt: str
    completedAt: Optional[str]


class InputRequest(TypedDict, total=False):
    #: The code that was sent to the phone.
    otp: Optional[str]
    #: The code that the customer made by dialling.
    voucher: Optional[str]


class WidgetToken(TypedDict):
    #: For `Pay.open({ reference, token })`. Valid for this payment only.
    token: str
    expiresAt: str


class RefundAccountBanksItem(TypedDict):
    code: str
    name: str


class RefundAccount(TypedDict):
    #: Send `destinationAccountNumber` and `destinationAccountBankCode` with a refund.
    needed: bool
    provider: str
    #: The banks that the provider lists. Empty: it has no list, or does not answer.
    banks: List[RefundAccountBanksItem]


class RefundRequest(TypedDict, total=False):
    #: In the lowest denomination. Absent: the whole amount that can still be refunded.
    amount: Optional[int]
    reason: Optional[str]
    #: The number of the customer’s bank account. It is encrypted, and deleted as soon as the provider has it.
    destinationAccountNumber: Optional[str]
    #: The code of the customer’s bank: see `GET /payments/{reference}/refund-account`.
    destinationAccountBankCode: Optional[str]
    #: Without an Idempotency-Key, the same amount of the same payment within a minute is rejected as
    #: `duplicate_refund`. `true` allows it. `false` rejects it also with a key.
    allowDuplicate: Optional[bool]


class RefundEnd(TypedDict):
    #: What the provider’s dashboard shows. No personal data of customers.
    note: str


class RefundRetry(TypedDict):
    #: The number of the customer’s bank account. It is encrypted, and deleted as soon as the provider has it.
    destinationAccountNumber: str
    #: The code of the customer’s bank: see `GET /payments/{reference}/refund-account`.
    destinationAccountBankCode: str


class Refund(TypedDict):
    id: str
    #: Id of the payment.
    payment: str
    amount: int
    currency: str
    #: `merchant`: requested through this API. `surplus`: made by Manilla, because the payment had already been
    #: paid. `provider`: made at the provider, for example in its dashboard, or by hand. `chargeback`: taken by the
    #: customer’s bank after a lost dispute.
    kind: Literal["merchant", "surplus", "provider", "chargeback"]
    status: Literal["pending", "successful", "failed"]
    reason: Optional[str]
    failure: Optional[str]
    #: Why a person must check this refund. `refund_unfinished: …`: the provider has not finished it in time (3
    #: days, longer for some providers). `refund_needs_account: …`: the provider waits for the customer’s bank
    #: account, see `POST /refunds/{id}/retry`. `unanswered: …`: the provider was asked for it and does not list
    #: it, see `POST /refunds/{id}/end`.
    needsReview: Optional[str]
    createdAt: str
    resolvedAt: Optional[str]


class CaseSubject(TypedDict):
    #: What the case is about.
    kind: Literal["attempt", "receipt", "refund", "dispute", "notice", "account", "settlement"]
    #: Its id; for an account, the name of the provider.
    id: str
    #: The attempt’s reference, or the provider’s id.
    reference: Optional[str]


class Case(TypedDict):
    id: str
    mode: Literal["sandbox", "live"]
    #: Why a person must decide. A subject has one open case for each reason.
    reason: Literal["unmatched_money", "contradiction", "missing_at_provider", "unanswered", "refund_mismatch", "refund_failed", "surplus", "underpaid", "settlement_difference", "review"]
    subject: CaseSubject
    #: Reference of the payment.
    payment: Optional[str]
    provider: Optional[str]
    #: The money at stake, in the lowest denomination.
    amount: Optional[int]
    currency: Optional[str]
    #: What happened, for a person.
    summary: str
    #: What can be done, besides `close`: by a call of its own, which closes the case. `return` is under Transfers
    #: in the dashboard.
    suggestions: List[Literal["match", "return", "refund", "retry_refund", "end_refund", "ask_again", "close"]]
    status: Literal["open", "closed"]
    #: What the person found who closed it.
    note: Optional[str]
    openedAt: str
    closedAt: Optional[str]
    #: Who closed it. `books`: the records agree again.
    closedBy: Optional[str]


class CaseClosing(TypedDict):
    #: What you found. No personal data of customers.
    note: str


class Dispute(TypedDict):
    id: str
    #: Reference of the payment.
    payment: str
    #: Id of the attempt that brought the money.
    attempt: str
    #: The disputed amount, in the lowest denomination.
    amount: int
    currency: str
    #: `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and is
    #: part of the payment’s `amountRefunded`.
    status: Literal["open", "won", "lost"]
    #: The reason, as the provider gives it.
    reason: Optional[str]
    #: Answer the dispute at the provider before this time.
    respondBy: Optional[str]
    openedAt: str
    resolvedAt: Optional[str]


class SettlementLines(TypedDict, total=False):
    count: int
    #: Lines of payments, refunds and disputes that are none of yours here.
    foreign: int


class SettlementBankCredit(TypedDict, total=False):
    id: str
    day: str


class Settlement(TypedDict):
    id: str
    mode: Literal["sandbox", "live"]
    provider: str
    #: The provider’s own id.
    providerId: str
    #: `pending`: not paid out yet, or held back. `paid`: sent to the bank account. `failed`: the bank sent it
    #: back, or it was cancelled.
    status: Literal["pending", "paid", "failed"]
    #: Why it failed or is held back, in the provider’s words.
    because: Optional[str]
    currency: str
    #: What customers paid, less what was given back to them by name. In the lowest denomination.
    gross: Optional[int]
    #: What the provider kept.
    fees: Optional[int]
    #: What was kept back besides, and no line names.
    deductions: Optional[int]
    #: What reaches the bank account.
    net: Optional[int]
    expectedOn: Optional[str]
    paidAt: Optional[str]
    madeAt: str
    bankReference: Optional[str]
    #: Null: the provider does not say which payments it is for, or they are not read yet.
    lines: Optional[SettlementLines]
    #: The credit on the bank statement that was uploaded.
    bankCredit: Optional[SettlementBankCredit]
    #: What does not add up, with both numbers. There is a case, too.
    difference: Optional[str]


class SettlementLine(TypedDict):
    #: What it is about. A dispute above 0 was won again.
    kind: Literal["payment", "refund", "dispute", "fee", "adjustment"]
    #: Reference of your payment. Null: it names none of yours.
    payment: Optional[str]
    paymentId: Optional[str]
    #: At the provider.
    transactionId: Optional[str]
    #: `providerReference` of the attempt.
    orderReference: Optional[str]
    #: Below 0: taken from the payout.
    gross: int
    #: Null: the provider does not say.
    fee: Optional[int]
    #: `gross` less `fee`.
    net: Optional[int]


class _BankStatementColumnsRequired(TypedDict):
    #: The name of the column with the day.
    date: str
    #: The name of the column with the amount. Empty, 0 and negative ones are no credits.
    amount: str


class BankStatementColumns(_BankStatementColumnsRequired, total=False):
    #: Of days like 03/04/2026. Default: `day-month`.
    dateOrder: Literal["day-month", "month-day"]


class _BankStatementRequired(TypedDict):
    #: The file, with its header. Commas, semicolons or tabs.
    csv: str


class BankStatement(_BankStatementRequired, total=False):
    #: Of the account. Default: NGN.
    currency: Optional[str]
    #: Absent: those of your last statement.
    columns: BankStatementColumns


class BankCreditAssignment(TypedDict):
    #: The `stl_` id. Null: none.
    settlement: Optional[str]


class Card(TypedDict):
    id: str
    provider: str
    #: The `user.id` that the card belongs to. Null: the e-mail address.
    userId: Optional[str]
    #: The e-mail address that the card was saved with.
    email: str
    brand: str
    last4: str
    expiryMonth: int
    expiryYear: int
    createdAt: str


class _QuoteRequestRequired(TypedDict):
    #: Amount to charge, in the lowest denomination of the currency (kobo for NGN).
    amount: int
    #: Country that the payment is processed for: ISO 3166-1 alpha-2, alpha-3 or English short name, any case.
    country: str


class QuoteRequest(_QuoteRequestRequired, total=False):
    #: ISO 4217, any case. Absent, null or empty: NGN.
    currency: Optional[str]
    #: The customer pays the provider’s fee on top of the amount.
    customerBearsCharge: Optional[bool]


class OfferedChannelLimits(TypedDict, total=False):
    min: int
    max: int


class OfferedChannelNetworksItem(TypedDict):
    #: The `network` to send.
    code: str
    name: str
    #: Whether it needs a phone number. `false`: the customer pays from the menu of the network.
    phoneNumber: bool
    #: Whether it needs a `preAuthorisationCode`, which the customer makes on the phone first.
    preAuthorisationCode: bool
    #: Whether it takes payments now. `false`: show it, so that customers do not look for it.
    available: bool


class OfferedChannelBanksItem(TypedDict):
    code: str
    name: str


class OfferedChannel(TypedDict):
    #: The `provider` to send to `POST /payments/v1/payments/initialize`.
    provider: str
    channel: Literal["card", "virtual-bank-account", "mobile-money", "ussd", "bank", "qr"]
    #: For people, in English.
    title: str
    country: str
    currency: str
    #: What the customer can be charged at once. `null`: the provider names no limits.
    limits: Optional[OfferedChannelLimits]
    #: What to send to initialize, besides what every payment needs: `phoneNumber`, `network`,
    #: `preAuthorisationCode`, `bank`.
    fields: List[str]
    networks: List[OfferedChannelNetworksItem]
    #: How the customer makes a `preAuthorisationCode`, in the words of the provider.
    codeHelp: Optional[str]
    #: The prefix of phone numbers of the country.
    phonePrefix: Optional[str]
    #: The `bank` to send is the code.
    banks: List[OfferedChannelBanksItem]
    #: How long the customer has. `null`: until the payment ends.
    lifetimeSeconds: Optional[int]


class IntegrationRequest(TypedDict, total=False):
    #: Keys and ids from the provider’s dashboard. Secrets are stored encrypted and never shown again. Settings
    #: that you leave out stay unchanged; an empty string removes an optional one. With another `baseURL` every
    #: secret must be sent again.
    settings: Optional[Dict[str, Optional[str]]]
    #: Another base URL for the provider’s API. Absent or null: unchanged. Empty: the provider’s default. In live
    #: mode https only.
    baseURL: Optional[str]
    #: The channels to use it for. Absent or null: unchanged (a new integration uses all). Empty: all.
    channels: Optional[List[str]]
    #: The countries to use it in: alpha-2, alpha-3 or English name. Absent or null: unchanged (a new integration
    #: uses all). Empty: all.
    countries: Optional[List[str]]
    #: The currencies to use it for. Absent or null: unchanged (a new integration uses all). Empty: all.
    currencies: Optional[List[str]]
    #: The integration with the lowest number is used first. Absent or null: unchanged (a new integration has 100).
    priority: Optional[int]


class Integration(TypedDict):
    provider: str
    #: `false` when the integration was removed.
    enabled: bool
    #: The settings that are not secret.
    settings: Dict[str, str]
    #: Names of the secrets that are set. Their values are never shown.
    secretsSet: List[str]
    #: `null` when the provider is part of this service.
    baseURL: Optional[str]
    channels: List[Literal["card", "virtual-bank-account", "mobile-money", "ussd", "bank", "qr"]]
    countries: List[str]
    currencies: List[str]
    #: The integration with the lowest number is used first.
    priority: int
    #: Enter it in the provider’s dashboard as the webhook URL.
    noticeURL: str
    createdAt: str
    updatedAt: str


class _EndpointRequestRequired(TypedDict):
    #: The URL that receives the events. In live mode https only.
    url: str


class EndpointRequest(_EndpointRequestRequired, total=False):
    #: The events to send. Empty or absent: all events, including types that are added later.
    events: Optional[List[Literal["payment.successful", "payment.cancelled", "payment.expired", "payment.underpaid", "payment.overpaid", "payment.surplus", "attempt.failed", "refund.successful", "refund.failed", "refund.needs_review", "dispute.opened", "dispute.updated", "dispute.won", "dispute.lost", "case.opened", "case.closed", "settlement.paid", "settlement.difference"]]]
    enabled: Optional[bool]


class EndpointChanges(TypedDict, total=False):
    #: The URL that receives the events. In live mode https only.
    url: Optional[str]
    #: The events to send. Empty or absent: all events, including types that are added later.
    events: Optional[List[Literal["payment.successful", "payment.cancelled", "payment.expired", "payment.underpaid", "payment.overpaid", "payment.surplus", "attempt.failed", "refund.successful", "refund.failed", "refund.needs_review", "dispute.opened", "dispute.updated", "dispute.won", "dispute.lost", "case.opened", "case.closed", "settlement.paid", "settlement.difference"]]]
    enabled: Optional[bool]


class Endpoint(TypedDict):
    id: str
    url: str
    events: List[str]
    enabled: bool
    disabledReason: Optional[str]
    failingSince: Optional[str]
    createdAt: str


_RedeliverRequestRequired = TypedDict(
    "_RedeliverRequestRequired",
    {
        "from": "str",
    },
)

class RedeliverRequest(_RedeliverRequestRequired, total=False):
    #: Exhausted before. Absent: now.
    to: Optional[str]


class ProblemErrorsItem(TypedDict):
    #: JSON pointer to the field.
    pointer: str
    code: str
    message: str


class _ProblemRequired(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: Literal["malformed_json", "invalid_request", "unknown_field", "unknown_network", "invalid_credentials", "credential_expired", "address_not_allowed", "insufficient_scope", "merchant_suspended", "not_found", "method_not_allowed", "conflict", "duplicate_reference", "duplicate_refund", "reference_conflict", "attempt_in_progress", "too_many_attempts", "refund_needs_no_account", "too_many_refunds", "too_many_endpoints", "too_many_links", "idempotency_in_progress", "input_not_expected", "input_refused", "payment_not_completed", "payment_already_completed", "payment_cancelled", "payment_expired", "body_too_large", "headers_too_large", "unsupported_media_type", "no_integration_available", "unknown_provider", "provider_not_configured", "currency_not_supported", "amount_out_of_range", "refund_account_required", "refund_exceeds_payment", "provider_error", "provider_timeout", "idempotency_key_reused", "rate_limited", "request_timeout", "internal_error", "unavailable"]
    #: The same request may succeed later.
    retryable: bool
    requestId: str


class Problem(_ProblemRequired, total=False):
    errors: List[ProblemErrorsItem]


class ListLinksQuery(TypedDict, total=False):
    limit: int
    cursor: str


class GetTimelineDataItem(TypedDict):
    at: str
    #: `request`, `change`, `call`, `notice`, `money` or `refund`.
    kind: str
    what: str
    attempt: Optional[str]
    detail: Dict[str, Any]


ListPaymentsQuery = TypedDict(
    "ListPaymentsQuery",
    {
        "q": "str",
        "status": "Literal['pending', 'successful', 'cancelled', 'expired']",
        "email": "str",
        "userId": "str",
        "from": "str",
        "to": "str",
        "limit": "int",
        "cursor": "str",
    },
    total=False,
)

class GetRefundAccountQuery(TypedDict, total=False):
    attempt: str


ListCasesQuery = TypedDict(
    "ListCasesQuery",
    {
        "status": "Literal['open', 'closed']",
        "reason": "Literal['unmatched_money', 'contradiction', 'missing_at_provider', 'unanswered', 'refund_mismatch', 'refund_failed', 'surplus', 'underpaid', 'settlement_difference', 'review']",
        "payment": "str",
        "from": "str",
        "to": "str",
        "limit": "int",
        "cursor": "str",
    },
    total=False,
)

class ListDisputesQuery(TypedDict, total=False):
    status: Literal["open", "won", "lost"]
    payment: str
    limit: int
    cursor: str


ListSettlementsQuery = TypedDict(
    "ListSettlementsQuery",
    {
        "status": "Literal['pending', 'paid', 'failed']",
        "provider": "str",
        "currency": "str",
        "from": "str",
        "to": "str",
        "withoutBankCredit": "Literal['true']",
        "limit": "int",
        "cursor": "str",
    },
    total=False,
)

class ListUnsettledQuery(TypedDict, total=False):
    provider: str
    late: Literal["true"]
    limit: int
    cursor: str


class ListUnsettledDataItem(TypedDict):
    #: Reference of the payment. Null: money of none, see Transfers.
    payment: Optional[str]
    paymentId: Optional[str]
    provider: str
    transactionId: str
    amount: int
    currency: str
    takenAt: str
    #: By the provider’s usual delay, in working days.
    expectedOn: str
    late: bool


class SumUnsettledDataItem(TypedDict):
    provider: str
    currency: str
    #: Working days from a payment to its settlement.
    usualDays: int
    payments: int
    #: What was paid and no settlement has, before fees.
    amount: int
    #: Of those payments: usually settled by now.
    late: int
    lateAmount: int
    #: Refunds and chargebacks that no settlement has deducted by name.
    refunds: int
    refundAmount: int


SumChargedFeesQuery = TypedDict(
    "SumChargedFeesQuery",
    {
        "from": "str",
        "to": "str",
    },
)

class SumChargedFeesDataItem(TypedDict):
    provider: str
    currency: str
    #: In UTC: 2026-11.
    month: str
    #: With a known fee of the provider.
    payments: int
    gross: int
    #: As calculated when the customer paid.
    fees: int
    #: As the provider kept them.
    feesCharged: int


class RefreshSettlementsData(TypedDict):
    #: Accounts whose list is read now. 0: each was read in the last minute.
    due: int


class GetSettlementDataLines(TypedDict, total=False):
    count: int
    #: Lines of payments, refunds and disputes that are none of yours here.
    foreign: int


class GetSettlementDataBankCredit(TypedDict, total=False):
    id: str
    day: str


class GetSettlementDataSumsItem(TypedDict):
    kind: Literal["payment", "refund", "dispute", "fee", "adjustment"]
    count: int
    gross: int
    fees: int
    net: int


class GetSettlementData(TypedDict):
    id: str
    mode: Literal["sandbox", "live"]
    provider: str
    #: The provider’s own id.
    providerId: str
    #: `pending`: not paid out yet, or held back. `paid`: sent to the bank account. `failed`: the bank sent it
    #: back, or it was cancelled.
    status: Literal["pending", "paid", "failed"]
    #: Why it failed or is held back, in the provider’s words.
    because: Optional[str]
    currency: str
    #: What customers paid, less what was given back to them by name. In the lowest denomination.
    gross: Optional[int]
    #: What the provider kept.
    fees: Optional[int]
    #: What was kept back besides, and no line names.
    deductions: Optional[int]
    #: What reaches the bank account.
    net: Optional[int]
    expectedOn: Optional[str]
    paidAt: Optional[str]
    madeAt: str
    bankReference: Optional[str]
    #: Null: the provider does not say which payments it is for, or they are not read yet.
    lines: Optional[GetSettlementDataLines]
    #: The credit on the bank statement that was uploaded.
    bankCredit: Optional[GetSettlementDataBankCredit]
    #: What does not add up, with both numbers. There is a case, too.
    difference: Optional[str]
    #: The lines by what they are about.
    sums: List[GetSettlementDataSumsItem]


class ListSettlementLinesQuery(TypedDict, total=False):
    foreign: Literal["true"]
    limit: int
    cursor: str


class UploadBankStatementData(TypedDict):
    #: Lines with a credit.
    credits: int
    #: Lines without one.
    skipped: int
    #: Of the credits: not on record before.
    added: int
    #: Settlements that have found their credit now.
    matched: int


class GetBankColumnsData(TypedDict):
    #: The name of the column with the day.
    date: str
    #: The name of the column with the amount. Empty, 0 and negative ones are no credits.
    amount: str
    #: Of days like 03/04/2026. Default: `day-month`.
    dateOrder: Literal["day-month", "month-day"]


class ListBankCreditsQuery(TypedDict, total=False):
    unmatched: Literal["true"]
    limit: int
    cursor: str


class ListBankCreditsDataItem(TypedDict):
    id: str
    day: str
    amount: int
    currency: str
    #: Its line in the file.
    line: int
    #: The settlement that it is. Null: none was found, or several fit.
    settlement: Optional[str]


class AssignBankCreditData(TypedDict):
    id: str
    settlement: Optional[str]


class ListCardsQuery(TypedDict, total=False):
    userId: str
    email: str


class ListIntegrationsQuery(TypedDict, total=False):
    country: str
    currency: str


class ListIntegrationsDataItem(TypedDict):
    provider: str
    channels: List[Literal["card", "virtual-bank-account", "mobile-money", "ussd", "bank", "qr"]]
    countries: List[str]
    currencies: List[str]
    #: The integration with the lowest number is used first.
    priority: int


class SetIntegrationAnswerWarning(TypedDict):
    code: Literal["keys_refused", "keys_not_checked"]
    message: str


class SetIntegrationAnswer(TypedDict):
    data: Integration
    #: `null` when the provider accepts the keys, or the request set none.
    warning: Optional[SetIntegrationAnswerWarning]


class CheckIntegrationData(TypedDict):
    #: `unknown`: the provider did not answer. Try again.
    keys: Literal["good", "bad", "unknown"]
    #: Why they are bad, or why the check failed.
    reason: Optional[str]


class QuoteFeesDataItem(TypedDict):
    provider: str
    channel: Literal["card", "virtual-bank-account", "mobile-money", "ussd", "bank", "qr"]
    fee: int
    #: The amount that the customer pays.
    amountCharged: int
    #: The amount that the merchant gets.
    amountSettled: int


class _ListChannelsQueryRequired(TypedDict):
    country: str


class ListChannelsQuery(_ListChannelsQueryRequired, total=False):
    currency: str


class CreateWebhookEndpointData(TypedDict):
    id: str
    url: str
    events: List[str]
    enabled: bool
    disabledReason: Optional[str]
    failingSince: Optional[str]
    createdAt: str
    #: Signs the events of this endpoint. It is shown only once.
    secret: str


class RotateWebhookEndpointSecretData(TypedDict):
    #: It is shown only once. The previous secret also signs for 24 hours.
    secret: str
    previousValidUntil: str


class TestWebhookEndpointData(TypedDict):
    delivered: bool
    status: Optional[int]
    error: Optional[str]
    tookMs: int
    #: The first 2 KiB of the response.
    answer: str


class RotateWebhookSecretData(TypedDict):
    #: It is shown only once. The previous secret also signs for 24 hours.
    secret: str
    previousValidUntil: str


class ListEventsQuery(TypedDict, total=False):
    payment: str
    type: Literal["payment.successful", "payment.cancelled", "payment.expired", "payment.underpaid", "payment.overpaid", "payment.surplus", "attempt.failed", "refund.successful", "refund.failed", "refund.needs_review", "dispute.opened", "dispute.updated", "dispute.won", "dispute.lost", "case.opened", "case.closed", "settlement.paid", "settlement.difference"]
    limit: int
    cursor: str


class GetEventDataDeliveriesItemTriesItem(TypedDict):
    number: int
    at: str
    status: Optional[int]
    error: Optional[str]
    tookMs: int
    answer: str


class GetEventDataDeliveriesItem(TypedDict):
    id: str
    endpoint: Optional[str]
    url: str
    state: Literal["waiting", "delivered", "exhausted", "disabled"]
    nextTryAt: Optional[str]
    tries: List[GetEventDataDeliveriesItemTriesItem]


class GetEventData(TypedDict):
    #: The event as it is sent. See the webhooks section for `data` of each type.
    event: Dict[str, Any]
    deliveries: List[GetEventDataDeliveriesItem]


class RedeliverEventData(TypedDict):
    #: The number of deliveries that are sent again, at most 50 000. Repeat the call when there are more.
    deliveries: int


class RedeliverGivenUpData(TypedDict):
    #: The number of deliveries that are sent again, at most 50 000. Repeat the call when there are more.
    deliveries: int


ExportPaymentsQuery = TypedDict(
    "ExportPaymentsQuery",
    {
        "q": "str",
        "status": "Literal['pending', 'successful', 'cancelled', 'expired']",
        "provider": "str",
        "channel": "Literal['card', 'virtual-bank-account', 'mobile-money', 'ussd', 'bank', 'qr']",
        "currency": "str",
        "amountFrom": "str",
        "amountTo": "str",
        "from": "str",
        "to": "str",
        "late": "Literal['true']",
        "needsReview": "Literal['true']",
        "columns": "str",
        "bom": "Literal['true']",
    },
    total=False,
)

class ExportRefundsQuery(TypedDict, total=False):
    status: Literal["pending", "successful", "failed"]
    columns: str
    bom: Literal["true"]


class ExportTransfersQuery(TypedDict, total=False):
    columns: str
    bom: Literal["true"]


class ExportDeliveriesQuery(TypedDict, total=False):
    state: Literal["retrying", "given-up"]
    columns: str
    bom: Literal["true"]


ExportSettlementsQuery = TypedDict(
    "ExportSettlementsQuery",
    {
        "status": "Literal['pending', 'paid', 'failed']",
        "provider": "str",
        "currency": "str",
        "from": "str",
        "to": "str",
        "columns": "str",
        "bom": "Literal['true']",
    },
    total=False,
)

ExportSettlementLinesQuery = TypedDict(
    "ExportSettlementLinesQuery",
    {
        "status": "Literal['pending', 'paid', 'failed']",
        "provider": "str",
        "currency": "str",
        "from": "str",
        "to": "str",
        "settlement": "str",
        "columns": "str",
        "bom": "Literal['true']",
    },
    total=False,
)

class PaymentSuccessfulEventData(TypedDict):
    payment: Payment
    attempt: Attempt


class PaymentSuccessfulEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["payment.successful"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: PaymentSuccessfulEventData


class PaymentCancelledEventData(TypedDict):
    payment: Payment


class PaymentCancelledEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["payment.cancelled"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: PaymentCancelledEventData


class PaymentExpiredEventData(TypedDict):
    payment: Payment


class PaymentExpiredEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["payment.expired"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: PaymentExpiredEventData


class PaymentUnderpaidEventDataMissing(TypedDict):
    amount: int
    currency: str


class PaymentUnderpaidEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    missing: PaymentUnderpaidEventDataMissing


class PaymentUnderpaidEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["payment.underpaid"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: PaymentUnderpaidEventData


class PaymentOverpaidEventDataExcess(TypedDict):
    amount: int
    currency: str


class PaymentOverpaidEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    excess: PaymentOverpaidEventDataExcess


class PaymentOverpaidEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["payment.overpaid"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: PaymentOverpaidEventData


class PaymentSurplusEventDataSurplus(TypedDict):
    amount: int
    currency: str


class PaymentSurplusEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    surplus: PaymentSurplusEventDataSurplus


class PaymentSurplusEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["payment.surplus"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: PaymentSurplusEventData


class AttemptFailedEventData(TypedDict):
    payment: Payment
    attempt: Attempt


class AttemptFailedEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["attempt.failed"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: AttemptFailedEventData


class RefundSuccessfulEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    refund: Refund


class RefundSuccessfulEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["refund.successful"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: RefundSuccessfulEventData


class RefundFailedEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    refund: Refund


class RefundFailedEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["refund.failed"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: RefundFailedEventData


class RefundNeedsReviewEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    refund: Refund


class RefundNeedsReviewEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["refund.needs_review"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: RefundNeedsReviewEventData


class DisputeOpenedEventDataDispute(TypedDict):
    id: str
    #: The disputed amount, in the lowest denomination.
    amount: int
    currency: str
    #: `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and is
    #: part of the payment’s `amountRefunded`.
    status: Literal["open", "won", "lost"]
    #: The reason, as the provider gives it.
    reason: Optional[str]
    #: Answer the dispute at the provider before this time.
    respondBy: Optional[str]
    openedAt: str
    resolvedAt: Optional[str]


class DisputeOpenedEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    #: A dispute without `payment` and `attempt`, which stand beside it.
    dispute: DisputeOpenedEventDataDispute


class DisputeOpenedEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["dispute.opened"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: DisputeOpenedEventData


class DisputeUpdatedEventDataDispute(TypedDict):
    id: str
    #: The disputed amount, in the lowest denomination.
    amount: int
    currency: str
    #: `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and is
    #: part of the payment’s `amountRefunded`.
    status: Literal["open", "won", "lost"]
    #: The reason, as the provider gives it.
    reason: Optional[str]
    #: Answer the dispute at the provider before this time.
    respondBy: Optional[str]
    openedAt: str
    resolvedAt: Optional[str]


class DisputeUpdatedEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    #: A dispute without `payment` and `attempt`, which stand beside it.
    dispute: DisputeUpdatedEventDataDispute


class DisputeUpdatedEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["dispute.updated"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: DisputeUpdatedEventData


class DisputeWonEventDataDispute(TypedDict):
    id: str
    #: The disputed amount, in the lowest denomination.
    amount: int
    currency: str
    #: `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and is
    #: part of the payment’s `amountRefunded`.
    status: Literal["open", "won", "lost"]
    #: The reason, as the provider gives it.
    reason: Optional[str]
    #: Answer the dispute at the provider before this time.
    respondBy: Optional[str]
    openedAt: str
    resolvedAt: Optional[str]


class DisputeWonEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    #: A dispute without `payment` and `attempt`, which stand beside it.
    dispute: DisputeWonEventDataDispute


class DisputeWonEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["dispute.won"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: DisputeWonEventData


class DisputeLostEventDataDispute(TypedDict):
    id: str
    #: The disputed amount, in the lowest denomination.
    amount: int
    currency: str
    #: `open`: not decided yet. `won`: the money stays with you. `lost`: the money went back to the customer and is
    #: part of the payment’s `amountRefunded`.
    status: Literal["open", "won", "lost"]
    #: The reason, as the provider gives it.
    reason: Optional[str]
    #: Answer the dispute at the provider before this time.
    respondBy: Optional[str]
    openedAt: str
    resolvedAt: Optional[str]


class DisputeLostEventData(TypedDict):
    payment: Payment
    attempt: Attempt
    #: A dispute without `payment` and `attempt`, which stand beside it.
    dispute: DisputeLostEventDataDispute
    refund: Refund


class DisputeLostEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["dispute.lost"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: int
    data: DisputeLostEventData


class CaseOpenedEventData(TypedDict):
    payment: Union[Payment, None]
    case: Case


class CaseOpenedEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["case.opened"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: Optional[int]
    data: CaseOpenedEventData


class CaseClosedEventData(TypedDict):
    payment: Union[Payment, None]
    case: Case


class CaseClosedEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["case.closed"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: Optional[int]
    data: CaseClosedEventData


class SettlementPaidEventData(TypedDict):
    payment: Union[Payment, None]
    settlement: Settlement


class SettlementPaidEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["settlement.paid"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: Optional[int]
    data: SettlementPaidEventData


class SettlementDifferenceEventData(TypedDict):
    payment: Union[Payment, None]
    settlement: Settlement


class SettlementDifferenceEvent(TypedDict):
    #: The same for each try. Handle each id once.
    id: str
    type: Literal["settlement.difference"]
    timestamp: str
    mode: Literal["sandbox", "live"]
    #: Rises with each change of the payment.
    sequence: Optional[int]
    data: SettlementDifferenceEventData


WebhookEvent = Union[
    PaymentSuccessfulEvent,
    PaymentCancelledEvent,
    PaymentExpiredEvent,
    PaymentUnderpaidEvent,
    PaymentOverpaidEvent,
    PaymentSurplusEvent,
    AttemptFailedEvent,
    RefundSuccessfulEvent,
    RefundFailedEvent,
    RefundNeedsReviewEvent,
    DisputeOpenedEvent,
    DisputeUpdatedEvent,
    DisputeWonEvent,
    DisputeLostEvent,
    CaseOpenedEvent,
    CaseClosedEvent,
    SettlementPaidEvent,
    SettlementDifferenceEvent,
]
