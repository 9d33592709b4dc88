import { parseCountry } from '../../kernel/country.ts'
import { parseCurrency } from '../../kernel/money.ts'
import { beginsWithDay } from '../../kernel/time-zone.ts'
import { isWebAddress } from '../../kernel/web-address.ts'
import { readCursor, readPosition } from './cursor.ts'

/**
 * String formats of requests, each with its test and the sentence for an error message. Ajv runs the tests;
 * `validation-errors.ts` builds the messages.
 */
export const FORMATS: Record<string, { test(text: string): boolean; sentence: string }> = {
  'e-mail': {
    test: (text) => /^[^\s@\p{Cc}]+@[^\s@.\p{Cc}]+(\.[^\s@.\p{Cc}]+)+$/u.test(text),
    sentence: 'must be an e-mail address, like ada@example.com',
  },
  'user-id': {
    test: (text) => /^[A-Za-z0-9_.:@-]{1,64}$/.test(text),
    sentence: 'must be 1 to 64 characters of A-Z, a-z, 0-9, _ . : @ and -',
  },
  'plain-text': {
    test: (text) => text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text),
    sentence: 'must not hold line breaks or other control characters',
  },
  'shown-text': {
    test: (text) => text.isWellFormed() && /[^\s\p{Cf}]/u.test(text) && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text),
    sentence: 'must have a text, without line breaks or other control characters',
  },
  reference: {
    test: (text) => /^[\x21-\x7e]{1,100}$/.test(text) && text !== '.' && text !== '..',
    sentence: 'must be 1 to 100 printable ASCII characters without spaces, and not "." or ".."',
  },
  'currency-code': {
    test: (text) => text === '' || parseCurrency(text) !== undefined,
    sentence: 'must be an ISO 4217 code, like NGN',
  },
  country: {
    test: (text) => parseCountry(text) !== undefined,
    sentence: 'must be a country of ISO 3166-1: its two or three letters or its English name, like NG, NGA or Nigeria',
  },
  'web-address': {
    test: isWebAddress,
    sentence:
      'must be an absolute http or https URL of at most 2048 characters, without user:password, like https://shop.example/thanks',
  },
  day: {
    test: (text) => text.length === 10 && beginsWithDay(text),
    sentence: 'must be a date like 2026-01-31, between 2000 and 2100',
  },
  moment: {
    test: (text) =>
      /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text) &&
      beginsWithDay(text) &&
      !Number.isNaN(Date.parse(text)),
    sentence:
      'must be a time like 2026-01-31T12:00:00Z, or a date like 2026-01-31, between 2000 and 2100 (a + in it is sent as %2B)',
  },
  'page-size': {
    test: (text) => /^([1-9]\d?|100)$/.test(text),
    sentence: 'must be a whole number from 1 to 100',
  },
  cursor: {
    test: (text) => readCursor('payment', text) !== undefined,
    sentence: 'must be the nextCursor of an earlier answer',
  },
  'case-cursor': {
    test: (text) => readCursor('case', text) !== undefined,
    sentence: 'must be the nextCursor of an earlier answer',
  },
  'settlement-cursor': {
    test: (text) => readCursor('settlement', text) !== undefined,
    sentence: 'must be the nextCursor of an earlier answer',
  },
  'unsettled-cursor': {
    test: (text) => readPosition(text) !== undefined,
    sentence: 'must be the `nextCursor` of a page of this list',
  },
  'credit-cursor': {
    test: (text) => /^\d{4}-\d\d-\d\d \d{1,15}$/.test(Buffer.from(text, 'base64url').toString()),
    sentence: 'must be the `nextCursor` of a page of this list',
  },
  'number-cursor': {
    test: (text) => /^\d{1,15}$/.test(Buffer.from(text, 'base64url').toString()),
    sentence: 'must be the `nextCursor` of a page of this list',
  },
  'dispute-cursor': {
    test: (text) => readCursor('dispute', text) !== undefined,
    sentence: 'must be the nextCursor of an earlier answer',
  },
  'event-cursor': {
    test: (text) => readCursor('event', text) !== undefined,
    sentence: 'must be the nextCursor of an earlier answer',
  },
  'link-cursor': {
    test: (text) => readCursor('link', text) !== undefined,
    sentence: 'must be the nextCursor of an earlier answer',
  },
  'bank-account-number': {
    test: (text) => /^[0-9A-Za-z]{4,34}$/.test(text),
    sentence: 'must be 4 to 34 letters and digits, without spaces',
  },
  'bank-code': {
    test: (text) => /^[0-9A-Za-z-]{2,20}$/.test(text),
    sentence: 'must be 2 to 20 letters, digits and hyphens: the code of the bank at the provider',
  },
  'refund-cursor': {
    test: (text) => readCursor('refund', text) !== undefined,
    sentence: 'must be the nextCursor of an earlier answer',
  },
  'review-cursor': {
    test: (text) => readCursor('review', text) !== undefined,
    sentence: 'must be the nextCursor of an earlier answer',
  },
  'delivery-cursor': {
    test: (text) => readCursor('delivery', text) !== undefined,
    sentence: 'must be the nextCursor of an earlier answer',
  },
}
