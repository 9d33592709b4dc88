import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MARKUP } from '../../../test/support/hostile.ts'
import { after, newPaymentState } from '../../../test/support/payment-state.ts'
import { buildAssets } from '../../../web/build.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Currency } from '../../kernel/money.ts'
import { type Branding, CORNERS, LANGUAGES, type Language } from '../../merchants/branding.ts'
import { GAPS } from './blank.ts'
import { documents } from './document.ts'
import { drawnPage, paymentPage, type Shown, type Visit } from './payment-page.ts'
import type { MethodName } from './screen.ts'

const { merchantId } = newPaymentState().payment

/** One thing most of the time, so that most pages are filled into a blank of another that differs in one thing or none. */
function mostly<T>(usual: T, ...others: T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 2, arbitrary: fc.constantFrom(...others) })
}

const texts = fc.constantFrom('order-7', 'ordre n° 7 – ₦', 'طلب ٧', GAPS.token, ...Object.values(GAPS), ...MARKUP)
const names = mostly('Ada’s Shop', 'متجر', `${GAPS.reference} & Sons`, '"><script>pwned()</script>')

const brandingCache: fc.Arbitrary<Branding> = fc.record({
  merchantId: fc.constant(merchantId),
  mode: mostly<Mode>('sandbox', 'live'),
  name: names,
  suspended: fc.constant(false),
  brand: fc.record({
    colour: mostly<string | null>(null, '#aa3300'),
    corners: mostly(...CORNERS),
    language: mostly<Language | null>(null, ...LANGUAGES),
    logo: mostly<{ version: string } | null>(null, { version: 'one' }),
    returnAfterSeconds: fc.constant(5),
  }),
  origins: mostly<string[]>([], ['https://shop.example']),
  widget: fc.constant('open'),
  integrations: fc.constant([]),
})

const visits: fc.Arbitrary<Visit> = fc.record({
  path: fc.constantFrom('./chk_1Ch4X33YutEgJYrN9XUzK6', './emb_x'), // ids, which hold nothing else
  wish: fc.record({
    method: mostly<MethodName | undefined>(undefined, 'card', 'bank'),
    sent: fc.boolean(),
    following: fc.boolean(),
  }),
  language: mostly<Language | undefined>(undefined, ...LANGUAGES),
  acceptLanguage: mostly<string | undefined>(undefined, 'ar', 'de, fr;q=0.5'),
  theme: mostly<Visit['theme']>('auto', 'light', 'dark'),
  embeddedIn: mostly<string | undefined>(undefined, 'https://shop.example'),
  saveData: mostly(false, true),
})

/** A payment that was just made, mostly; sometimes one with something special about it. */
const shown: fc.Arbitrary<Shown> = fc
  .record({
    branding: brandingCache,
    reference: texts,
    amount: fc.integer({ min: 1, max: 999_999_999_999 }),
    currency: fc.constantFrom('NGN', 'XOF', 'USD'),
    sequence: mostly(0, 3),
    redirectURL: fc.constantFrom(null, 'https://shop.example/back'),
    customerBearsCharge: mostly(false, true),
    seconds: mostly(1, 90_000),
    methods: mostly<MethodName[]>(['card', 'bank'], ['bank', 'card'], ['card'], ['bank'], []),
    asksToSave: mostly(false, true),
    cards: mostly(0, 1),
    shortLink: fc.option(texts, { nil: undefined, freq: 6 }),
    mayCancel: fc.boolean(),
    token: texts,
    key: texts,
  })
  .map(
    ({
      branding,
      methods,
      amount,
      seconds,
      asksToSave,
      cards,
      shortLink,
      mayCancel,
      token,
      key,
      currency,
      ...changes
    }) => {
      const state = newPaymentState()
      Object.assign(state.payment, changes, { amount, mode: branding.mode, currency: currency as Currency })
      const charged = changes.customerBearsCharge ? amount + 150 : amount
      return {
        state,
        branding,
        offer: {
          methods: methods.map((name) => ({ name, amountCharged: charged })),
          cards: [{ id: 'crd_1' as never, brand: 'visa', last4: '4081' }].slice(0, cards),
          asksToSave,
        },
        shortLink,
        token,
        key,
        mayCancel,
        mayFrame: () => true,
        now: after(seconds),
      }
    },
  )

test('a page that is filled in is, byte for byte, the page as it would be drawn', async () => {
  const pages = documents(await buildAssets())
  fc.assert(
    fc.property(shown, visits, (one, visit) => {
      assert.deepEqual(paymentPage(pages, one, visit), drawnPage(pages, one, visit))
    }),
    { numRuns: 3_000 },
  )
})
