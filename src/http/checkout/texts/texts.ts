import type { Channel } from '../../../kernel/channel.ts'
import type { Language } from '../../../merchants/brand.ts'
import { parseLanguage } from '../../../merchants/branding.ts'
import type { FailureCode } from '../../../providers/provider.ts'
import { ar } from './ar.ts'
import { en } from './en.ts'
import { fr } from './fr.ts'
import { sw } from './sw.ts'

/** Everything that the page says. Each sentence tells what happened, whether money was taken, or what to do next. */
export interface Texts {
  /** How numbers and dates are written: digits are always Western, for people copy them into banking apps. */
  locale: string
  direction: 'ltr' | 'rtl'

  title(amount: string, merchant: string): string
  reference: string
  testMode: string
  securedBy: string
  help(merchant: string): string
  copy: string
  copyOf(what: string): string
  copied: string
  offline: string
  backOnline: string

  payWith: string
  method: Record<Channel, string>
  newCard: string
  savedCard(brand: string, last4: string): string
  cardNote: string
  saveCard: string
  bankTransferNote: string
  mobileNote: string
  ussdNote: string
  bankNote: string
  qrNote: string
  mobileNumber: string
  network: string
  /** Beside a mobile network that takes no payments at the moment. */
  closed: string
  codeBeforehand(networks: string): string
  wrongPhoneNumber(prefix: string, zero: boolean): string
  tooManyRequests: string
  chooseNetwork: string
  looksLike(network: string): string
  chooseBank: string
  amount: string
  charge: string
  total: string
  pay(amount: string): string
  showAccount: string
  showCode: string
  showQr: string
  continueOnPhone: string
  continueOnPhoneNote: string

  processing: string
  processingNote: string
  processingLong: string

  provider: string
  /** The provider's page opens by a redirect. */
  providerNote: string
  /** The provider's page is shown in a frame. */
  providerFramedNote: string
  /** The same for other methods than the card. */
  providerOtherNote: string
  providerOpen: string
  useAnotherMethod: string
  useAnotherNumber: string

  transferExactly(amount: string): string
  bankName: string
  accountNumber: string
  accountName: string
  forThisPaymentOnly: string
  expiresIn: string
  minutesLeft(minutes: number): string
  sentIt: string
  newAccount: string
  detailsShown: string
  narration: string
  narrationNote: string
  dialTransfer: string
  dialTransferNote: string
  dialTransferTest: string

  /** The network asks on the customer's phone. */
  prompt: string
  promptSent(amount: string, number: string | undefined): string
  promptFrom(network: string): string
  /** `name`: as the request shows it, where that is known. It may be the provider's. */
  promptShows(name: string): string
  promptApprove: string
  noPrompt: string
  noPromptPhone: string
  noPromptNumber(number: string): string
  /** `code`: opens the network's menu. */
  noPromptMenu(network: string, code: string): string
  waiting: string
  waitingNote(merchant: string): string
  /** Before a second request, while the first can still be approved. */
  unsureNote(amount: string): string
  earlierPrompt(number: string | undefined): string
  earlierOther: string
  enterCode: string
  code: string
  sendCode: string
  codeRefused: string
  payTo(amount: string): string
  payToNote: string
  payToNumber: string
  dial: string
  dialNote(bank: string | undefined): string
  scan: string
  scanNote: string

  checking: string
  checkingNote: string
  checkingLong(merchant: string): string
  steps: [string, string, string]
  showDetails: string
  checkNow: string

  partial(received: string, asked: string): string
  sendTheRest(rest: string): string

  failed: string
  reason: Record<FailureCode, string>
  /** Where the customer pays by phone or at the bank: what to do there. */
  reasonOnPhone: Partial<Record<FailureCode, string>>
  notCharged: string
  tryAgain: string
  useAnotherCard: string

  confirming: string
  confirmingNote(merchant: string): string

  succeeded: string
  paidTo(amount: string, merchant: string): string
  spokenSuccess(amount: string): string
  returnTo(merchant: string): string
  returningIn: string
  stay: string
  print: string
  close: string

  alreadyPaid: string
  nothingMore: string
  paidOn(date: string): string
  refundedNote(amount: string): string
  overpaidNote(excess: string, merchant: string): string

  cancelled: string
  /** A phone may still ask, or money may be under way. */
  cancelledOpen(merchant: string): string
  expired: string
  expiredNote(merchant: string): string
  accountExpired: string
  accountExpiredNote: string
  unpayable: string
  unpayableNote(merchant: string): string

  cancel: string
  cancelQuestion: string
  cancelNote: string
  keepPaying: string
  stop: string
  closeQuestion: string
  closeNote: string
  keepOpen: string
  closeAnyway: string

  /** The page of a reusable link. */
  link: {
    email: string
    name: string
    phoneNumber: string
    continue: string
    checkFields: string
    missing: string
    wrongEmail: string
    wrongText: string
    wrongAmount(example: string): string
    between(lowest: string, highest: string): string
    atLeast(amount: string): string
    atMost(amount: string): string
    inactive: string
    expired: string
    used_up: string
    endedNote(merchant: string): string
  }

  notFound: string
  notFoundNote: string
  tooManyTries: string
  tooManyTriesNote: string
  tooManyAttempts: string
  tooManyAttemptsNote: string
  wentWrong: string
  wentWrongNote: string
  cannotShow: string
  tryShortly: string
}

export const TEXTS: Record<Language, Texts> = { en, fr, ar, sw }

/** The link's own wish, then the merchant's, then the browser's. */
export function languageFor(
  asked: Language | undefined,
  merchants: Language | null,
  accepts: string | undefined,
): Language {
  return asked ?? merchants ?? accepted(accepts) ?? 'en'
}

/** `fr-CA;q=0.8, en` in order of weight; the first that we speak. */
function accepted(header = ''): Language | undefined {
  if (header === '') return undefined
  const ranked = header
    .split(',')
    .slice(0, 20)
    .map((part) => {
      const [tag = '', weight] = part.trim().split(';q=')
      return { language: tag.slice(0, 2).toLowerCase(), weight: weight === undefined ? 1 : Number(weight) || 0 }
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
  for (const { language } of ranked) {
    const known = parseLanguage(language)
    if (known) return known
  }
  return undefined
}
