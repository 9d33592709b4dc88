/** The operators of mobile money. Adapters translate these names to the provider's own. */
export const MOBILE_NETWORKS = {
  mtn: 'MTN MoMo',
  telecel: 'Telecel Cash',
  at: 'AT Money',
  mpesa: 'M-PESA',
  'mpesa-paybill': 'M-PESA Paybill',
  airtel: 'Airtel Money',
  orange: 'Orange Money',
  wave: 'Wave',
  moov: 'Moov Money',
  free: 'Free Money',
  zamtel: 'Zamtel Kwacha',
  tnm: 'TNM Mpamba',
  vodacom: 'Vodacom M-Pesa',
  tigo: 'Mixx by Yas',
  halopesa: 'HaloPesa',
} as const
export type MobileNetwork = keyof typeof MOBILE_NETWORKS

export function isMobileNetwork(text: string): text is MobileNetwork {
  return Object.hasOwn(MOBILE_NETWORKS, text)
}

/** The networks that the customer pays from its own menu, with a number and an account: no phone number is asked for. */
export const PAID_FROM_MENU: ReadonlySet<MobileNetwork> = new Set(['mpesa-paybill'])

/** How numbers begin after the country's prefix. For a first guess: people keep their number when they change network. */
const NUMBERS: Record<string, Partial<Record<MobileNetwork, RegExp>>> = {
  GH: { mtn: /^(24|25|53|54|55|59)/, telecel: /^(20|50)/, at: /^(26|27|56|57)/ },
  KE: { mpesa: /^(70|71|72|74[0-6]|748|75[7-9]|76[89]|79|11[0-5])/, airtel: /^(73|75[0-6]|78|10[0-8])/ },
  UG: { mtn: /^(39|76|77|78)/, airtel: /^(70|74|75)/ },
  RW: { mtn: /^(78|79)/, airtel: /^(72|73)/ },
  ZM: { mtn: /^(76|96)/, airtel: /^(77|97)/, zamtel: /^(75|95)/ },
  TZ: { vodacom: /^(74|75|76)/, airtel: /^(68|69|78)/, tigo: /^(65|67|71|77)/, halopesa: /^(61|62)/ },
  CI: { mtn: /^05/, orange: /^07/, moov: /^01/ },
  SN: { orange: /^(77|78)/, free: /^76/ },
}

/** The network of a number without the country's prefix; undefined for one that tells nothing. */
export function guessNetwork(country: string, nationalNumber: string): MobileNetwork | undefined {
  const found = Object.entries(NUMBERS[country] ?? {}).find(([, begins]) => begins.test(nationalNumber))
  return found?.[0] as MobileNetwork | undefined
}

/** How the numbers of each network begin, as text: for a guess in the browser. */
export function numbersOf(country: string): Record<string, string> {
  return Object.fromEntries(Object.entries(NUMBERS[country] ?? {}).map(([network, begins]) => [network, begins.source]))
}
