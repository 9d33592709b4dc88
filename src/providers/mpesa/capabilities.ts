import assert from 'node:assert/strict'
import { type Capabilities, offersAt, type Setting } from '../capabilities.ts'

/** Without them no payment to the paybill can be confirmed, or it is not said what M-PESA does without our answer. */
const PAYBILL_NEEDS = ['initiatorName', 'securityCredential', 'paybillDefault']
const NETWORKS = ['mpesa', 'mpesa-paybill'] as const

// What Safaricom keeps is in the tariff of the short code, and is taken from an account of its own there.
const FEE = { basisPoints: 0 }

/** README.md has the sources. */
export const capabilities: Capabilities = {
  name: 'mpesa',
  title: 'M-PESA Daraja',
  sandboxOnly: false,
  framed: false,
  pageTakesSavedCards: false,
  pageAsksToSave: false,
  countries: ['KE'],
  currencies: ['KES'],
  // One payment is at least a shilling, and at most what M-PESA takes at once.
  limits: { KES: { min: 100, max: 25_000_000 } },
  offers: {
    'mobile-money': offersAt(
      { KES: FEE },
      {
        ...{
          networks: { KE: NETWORKS },
          wholeUnits: { KE: NETWORKS },
          networkNeeds: { 'mpesa-paybill': PAYBILL_NEEDS },
        },
        // An account number to pay to. A prompt ends after a minute and a half.
        lifetimeSeconds: 3_600,
      },
    ),
  },
  // The receipt number, by which a payment is reversed, the result of a reversal, and that of a question.
  noticesHaveFacts: true,
  noticeAnswer: { ResultCode: 0, ResultDesc: 'Accepted' },
  // The account number of the transaction.
  referenceLength: 12,
  // Addresses with "mpesa" are refused for payments to the paybill.
  nameInAddresses: 'daraja',
}

const both = <Value>(value: Value) => ({ sandbox: value, live: value })

/** Their keys look alike in both modes. */
export const settings: readonly Setting[] = [
  {
    name: 'consumerKey',
    about: 'The consumer key of your app, in the Daraja portal under My Apps.',
    secret: false,
    pattern: both(/^[0-9A-Za-z]{20,100}$/),
    looksLike: both('32 or more letters and digits'),
  },
  {
    name: 'consumerSecret',
    about: 'The consumer secret, beside the consumer key.',
    secret: true,
    pattern: both(/^[0-9A-Za-z]{16,150}$/),
    looksLike: both('16 or more letters and digits'),
  },
  {
    name: 'shortCode',
    about: 'The short code that you went live with: your paybill number, or the store number of your till.',
    secret: false,
    pattern: both(/^\d{5,7}$/),
    looksLike: { sandbox: '174379', live: '5 to 7 digits' },
  },
  {
    name: 'passkey',
    about: 'The passkey of M-PESA Express. Safaricom sends it by e-mail when you go live.',
    secret: true,
    pattern: both(/^[0-9A-Za-z]{32,128}$/),
    looksLike: both('64 letters and digits'),
  },
  {
    name: 'tillNumber',
    about: 'For Buy Goods only: the till number. Leave it out for a paybill.',
    secret: false,
    optional: true,
    pattern: both(/^\d{5,9}$/),
    looksLike: both('5 to 9 digits'),
  },
  {
    name: 'initiatorName',
    about: 'For refunds and payments to the paybill: the name of the API user.',
    secret: false,
    optional: true,
    pattern: both(/^[\x21-\x7e]{1,64}$/),
    looksLike: both('testapi'),
  },
  {
    name: 'securityCredential',
    about: 'For refunds and payments to the paybill: the password of that user, encrypted in the Daraja portal.',
    secret: true,
    optional: true,
    pattern: both(/^[0-9A-Za-z+/]{40,1000}={0,2}$/),
    looksLike: both('344 characters'),
  },
  {
    name: 'paybillDefault',
    about: 'For payments to the paybill: what M-PESA does with one while Manilla does not answer.',
    secret: false,
    optional: true,
    pattern: both(/^(Completed|Cancelled)$/),
    looksLike: both('Completed or Cancelled'),
  },
]

export interface Account {
  consumerKey: string
  /** It is also the key of the tokens in the addresses of callbacks. */
  consumerSecret: string
  shortCode: string
  passkey: string
  tillNumber: string | undefined
  /** Absent: nothing can be reversed, and no receipt number asked for. */
  initiator: { name: string; securityCredential: string } | undefined
  paybillDefault: string | undefined
}

export function readSettings(settings: Record<string, string>): Account {
  const {
    consumerKey,
    consumerSecret,
    shortCode,
    passkey,
    tillNumber,
    initiatorName,
    securityCredential,
    paybillDefault,
  } = settings
  assert(consumerKey, 'mpesa needs the setting consumerKey')
  // With an empty secret anyone could make a token.
  assert(consumerSecret, 'mpesa needs the setting consumerSecret')
  assert(shortCode, 'mpesa needs the setting shortCode')
  assert(passkey, 'mpesa needs the setting passkey')
  const initiator = initiatorName && securityCredential ? { name: initiatorName, securityCredential } : undefined
  return {
    consumerKey,
    consumerSecret,
    shortCode,
    passkey,
    tillNumber: tillNumber || undefined,
    initiator,
    paybillDefault,
  }
}
