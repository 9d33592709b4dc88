import type { Fake } from './fake-provider.ts'
import { fakeFlutterwave } from './flutterwave/fake.ts'
import { fakeMonnify } from './monnify/fake.ts'
import { fakeMpesa } from './mpesa/fake.ts'
import { fakePawapay } from './pawapay/fake.ts'
import { fakePaystack } from './paystack/fake.ts'
import { fakeStripe } from './stripe/fake.ts'

/** One fake for each real provider. Every suite that runs against all providers iterates this list. */
export const FAKES: readonly Fake[] = [fakePaystack, fakeFlutterwave, fakeMonnify, fakeStripe, fakePawapay, fakeMpesa]

/** Those whose customers can pay by card, for the journeys of cards. */
export const FAKES_WITH_CARDS = FAKES.filter(({ provider }) => provider.capabilities.offers.card !== undefined)

export function findFake(name: string): Fake | undefined {
  return FAKES.find(({ provider }) => provider.capabilities.name === name)
}
