import type { Texts } from './texts.ts'

const DECLINED = 'Your bank declined this payment and did not say why.'
const NOT_ALLOWED =
  'Your bank does not allow this payment on this card. Raise the limit or allow online payments in your bank’s app, or pay another way.'
const NO_ANSWER = 'The bank did not answer. Wait a minute and try again.'
const WRONG_CODE = 'The code did not match.'

export const en: Texts = {
  locale: 'en',
  direction: 'ltr',

  title: (amount, merchant) => `${amount} to ${merchant}`,
  reference: 'Reference',
  testMode: 'Test mode: no real money moves',
  securedBy: 'Secured by',
  help: (merchant) => `Questions about this order? Ask ${merchant} and give the reference above.`,
  copy: 'Copy',
  copyOf: (what) => `Copy ${what.toLowerCase()}`,
  copied: 'Copied',
  offline: 'You are offline. We will continue when the connection is back.',
  backOnline: 'You are back online.',

  payWith: 'Pay with',
  card: 'Card',
  bank: 'Bank transfer',
  newCard: 'New card',
  savedCard: (brand, last4) => `${brand} ending ${last4}`,
  cardNote: 'You enter your card with the payment provider. The shop never sees it.',
  saveCard: 'Keep this card for next time',
  bankNote: 'You get an account number for this payment alone, and transfer from your bank’s app.',
  amount: 'Amount',
  charge: 'Charge',
  total: 'You pay',
  pay: (amount) => `Pay ${amount}`,
  showAccount: 'Get account number',
  continueOnPhone: 'Continue on your phone',
  continueOnPhoneNote: 'Point your phone’s camera here. This page follows along.',

  processing: 'Processing your payment',
  processingNote: 'Please keep this page open.',
  processingLong: 'This is taking longer than usual. You will not be charged twice.',

  provider: 'Enter your card',
  providerNote: 'Continue on your bank’s secure page.',
  providerFramedNote: 'Enter your card in the payment provider’s form.',
  providerOpen: 'Continue to the secure page',
  useAnotherMethod: 'Use another method',

  transferExactly: (amount) => `Transfer exactly ${amount}`,
  bankName: 'Bank',
  accountNumber: 'Account number',
  accountName: 'Account name',
  forThisPaymentOnly: 'For this payment only.',
  expiresIn: 'Expires in',
  minutesLeft: (minutes) => (minutes === 1 ? 'One minute left.' : `${minutes} minutes left.`),
  sentIt: 'I’ve sent the money',
  newAccount: 'Get a new account number',
  detailsShown: 'Transfer details shown.',

  checking: 'Checking for your transfer',
  checkingNote: 'This page changes by itself as soon as the money is here.',
  checkingLong: (merchant) =>
    `Transfers can take longer. You can close this page; we will tell ${merchant} when the money arrives.`,
  steps: ['Sent', 'Received', 'Confirmed'],
  showDetails: 'Show account details',
  checkNow: 'Check now',

  partial: (received, asked) => `We received ${received} of ${asked}.`,
  sendTheRest: (rest) => `Send ${rest} more to the same account.`,

  failed: 'Payment not completed',
  reason: {
    insufficient_funds: 'The card does not have enough money for this payment.',
    card_declined: DECLINED,
    card_expired: 'This card has expired.',
    card_not_supported: NOT_ALLOWED,
    incorrect_pin: WRONG_CODE,
    incorrect_otp: WRONG_CODE,
    authentication_failed: 'Your bank could not confirm it was you.',
    limit_exceeded: NOT_ALLOWED,
    suspected_fraud: DECLINED,
    invalid_token: 'This saved card can no longer be used.',
    reversed: 'The payment was reversed, so your money goes back to you.',
    amount_mismatch: 'The amount did not match, so the payment was not taken.',
    transfer_expired: 'The account number expired before the money came.',
    customer_cancelled: 'You stopped before paying.',
    provider_unavailable: NO_ANSWER,
    provider_error: NO_ANSWER,
    other: DECLINED,
  },
  notCharged: 'You have not been charged.',
  tryAgain: 'Try again',
  useAnotherCard: 'Use another card',

  confirming: 'We are confirming your payment',
  confirmingNote: (merchant) => `Do not pay again yet. You can close this page; ${merchant} will be told the result.`,

  succeeded: 'Payment received',
  paidTo: (amount, merchant) => `You paid ${amount} to ${merchant}.`,
  spokenSuccess: (amount) => `Payment of ${amount} received.`,
  returnTo: (merchant) => `Return to ${merchant}`,
  returningIn: 'Returning in',
  stay: 'Stay on this page',
  print: 'Print or save',
  close: 'Close',

  alreadyPaid: 'This payment is already completed',
  nothingMore: 'Nothing more to pay.',
  paidOn: (date) => `Paid on ${date}`,
  refundedNote: (amount) => `${amount} was sent back to you.`,
  overpaidNote: (excess, merchant) => `You sent ${excess} more than was due. Ask ${merchant} to send it back.`,

  cancelled: 'Payment cancelled',
  expired: 'This payment link has expired',
  expiredNote: (merchant) =>
    `Ask ${merchant} for a new one. If you have already sent money, it will be matched or returned.`,
  accountExpired: 'This account number has expired',
  accountExpiredNote:
    'Do not send money to the old account number. If you already did, it will be matched or returned.',
  unpayable: 'This payment can’t be made right now',
  unpayableNote: (merchant) => `You have not been charged. Ask ${merchant} for another way to pay.`,

  cancel: 'Cancel payment',
  cancelQuestion: 'Stop this payment?',
  cancelNote: 'If you have already sent money, we will still confirm it.',
  keepPaying: 'Keep paying',
  stop: 'Stop',
  closeQuestion: 'Payment may still go through',
  closeNote: 'You can open it again from the shop. It goes on where it is now.',
  keepOpen: 'Stay here',
  closeAnyway: 'Close',

  notFound: 'We can’t find this payment',
  notFoundNote: 'Check the link, or ask the shop for a new one.',
  tooManyTries: 'Too many tries',
  tooManyTriesNote: 'Please wait a minute, then open the link again.',
  tooManyAttempts: 'This payment has had too many tries',
  tooManyAttemptsNote: 'You have not been charged for those that failed. Ask the shop for a new link.',
  wentWrong: 'Something went wrong on our side',
  wentWrongNote: 'Please try again in a moment. Open the link again before you pay again.',
  cannotShow: 'We can’t show this payment right now',
  tryShortly: 'You have not been charged by opening it. Please try again in a moment.',
}
