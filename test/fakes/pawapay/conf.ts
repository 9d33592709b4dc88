/** The account of the tests, as `GET /v2/active-conf` tells it: each kind of authorization, and odd operators. */

export interface Terms {
  authType: string
  pinPrompt?: 'AUTOMATIC' | 'MANUAL'
  pinPromptRevivable?: boolean
  pinPromptInstructions?: object
  authTokenInstructions?: object
  minAmount: string
  maxAmount: string
  decimalsInAmount: 'NONE' | 'TWO_PLACES'
  status: 'OPERATIONAL' | 'DELAYED' | 'CLOSED'
}

const PROMPT = {
  authType: 'PROVIDER_AUTH',
  pinPrompt: 'AUTOMATIC',
  minAmount: '1',
  maxAmount: '90000000',
  status: 'OPERATIONAL',
} as const

export const steps = (en: string, fr: string) => ({
  channels: [
    {
      ...{ type: 'USSD', displayName: { en: 'USSD', fr: 'USSD' }, quickLink: 'tel*182*1*3%23' },
      variables: { shortCode: '*182*1*3#' },
      instructions: {
        en: [
          { text: en, template: 'Dial {{shortCode}}', variables: { shortCode: '*182*1*3#' } },
          { text: 'Enter your PIN' },
        ],
        fr: [{ text: fr, template: 'Composez {{shortCode}}', variables: { shortCode: '*182*1*3#' } }],
      },
    },
  ],
})

/** By operator; changed by tests. */
export function newConf() {
  const operator = (provider: string, currency: string, terms: Terms) => ({
    ...{ provider, displayName: provider, logo: `https://static-content.pawapay.io/${provider}.png` },
    nameDisplayedToCustomer: 'PAWAPAY LTD',
    currencies: [
      {
        ...{ currency, displayName: currency },
        operationTypes: { DEPOSIT: { ...terms, callbackUrl: 'https://merchant.com/depositCallback' } },
      },
    ],
  })
  const country = (code: string, prefix: string, en: string, providers: ReturnType<typeof operator>[]) => ({
    ...{ country: code, prefix, flag: 'https://static-content.pawapay.io/flag.svg', displayName: { en, fr: en } },
    providers,
  })
  return {
    companyName: 'Demo',
    signatureConfiguration: { signedRequestsOnly: false, signedCallbacks: true },
    countries: [
      country('ZMB', '260', 'Zambia', [
        operator('MTN_MOMO_ZMB', 'ZMW', {
          ...{ ...PROMPT, pinPromptRevivable: true, decimalsInAmount: 'TWO_PLACES' },
          pinPromptInstructions: steps('Dial *115# to see what waits', 'Composez *115#'),
        }),
        operator('AIRTEL_OAPI_ZMB', 'ZMW', { ...PROMPT, decimalsInAmount: 'TWO_PLACES', status: 'CLOSED' }),
        operator('ZAMTEL_ZMB', 'ZMW', { ...PROMPT, minAmount: '5', maxAmount: '500', decimalsInAmount: 'NONE' }),
      ]),
      country('RWA', '250', 'Rwanda', [
        operator('MTN_MOMO_RWA', 'RWF', {
          ...{ ...PROMPT, pinPrompt: 'MANUAL', decimalsInAmount: 'NONE', minAmount: '100', maxAmount: '2000000' },
          pinPromptInstructions: steps('Dial *182*1*3#', 'Composez *182*1*3#'),
        }),
        operator('AIRTEL_RWA', 'RWF', { ...PROMPT, decimalsInAmount: 'NONE', minAmount: '100', status: 'DELAYED' }),
      ]),
      country('BFA', '226', 'Burkina Faso', [
        operator('ORANGE_BFA', 'XOF', {
          ...{
            authType: 'PREAUTH',
            minAmount: '100',
            maxAmount: '1500000',
            decimalsInAmount: 'NONE',
            status: 'OPERATIONAL',
          },
          authTokenInstructions: steps('Dial *144*4*6#', 'Composez *144*4*6#'),
        }),
      ]),
      country('SEN', '221', 'Senegal', [
        operator('WAVE_SEN', 'XOF', {
          ...{
            authType: 'REDIRECT_AUTH',
            minAmount: '1',
            maxAmount: '2000000',
            decimalsInAmount: 'NONE',
            status: 'OPERATIONAL',
          },
        }),
        operator('ORANGE_SEN', 'XOF', { ...PROMPT, maxAmount: '2000000', decimalsInAmount: 'NONE' }),
        // Not one that we know.
        operator('KOLONELL_SEN', 'XOF', { ...PROMPT, decimalsInAmount: 'NONE' }),
      ]),
    ],
  }
}

export type Conf = ReturnType<typeof newConf>

export function termsOf(conf: Conf, provider: string, currency: string): Terms | undefined {
  const operators = conf.countries.flatMap(({ providers }) => providers)
  const found = operators.find((each) => each.provider === provider)
  return found?.currencies.find((each) => each.currency === currency)?.operationTypes.DEPOSIT
}

export const countryOf = (conf: Conf, provider: string): string =>
  conf.countries.find(({ providers }) => providers.some((each) => each.provider === provider))?.country ?? 'XXX'
