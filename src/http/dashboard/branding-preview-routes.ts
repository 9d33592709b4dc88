import type { Database } from '../../database/database.ts'
import { CHANNELS } from '../../kernel/channel.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Country } from '../../kernel/country.ts'
import { newId, newShortCode } from '../../kernel/ids.ts'
import { DEFAULT_CURRENCY } from '../../kernel/money.ts'
import type { Branding } from '../../merchants/branding.ts'
import { findBranding } from '../../merchants/branding-store.ts'
import { parseMerchantName } from '../../merchants/merchant.ts'
import { contrastReport } from '../../merchants/theme.ts'
import type { Payment } from '../../payments/state/payment.ts'
import type { Documents } from '../checkout/document.ts'
import { previewPage } from '../checkout/payment-page.ts'
import { sendPage } from '../checkout/send-page.ts'
import type { App } from '../server/framework.ts'
import { inMerchant } from './guard.ts'
import { BrandingDraft, ContrastAnswer, ContrastQuery } from './settings-contract.ts'

const BRANDING = '/merchants/:merchant/branding'
const AMOUNT = 1_250_000
const HOUR_MS = 3_600_000

interface Deps {
  database: Database
  clock: Clock
  documents: Documents
}

/** The payment page with a draft of the branding, for a frame of the dashboard, and the contrast of a colour. */
export function brandingPreviewRoutes(app: App, { database, clock, documents }: Deps): void {
  const config = { access: 'settings' } as const

  app.get(`${BRANDING}/preview`, { config, schema: { querystring: BrandingDraft } }, async (request, reply) => {
    const { merchantId } = inMerchant(request).membership
    const saved = await findBranding(database, merchantId, 'live')
    if (!saved) throw new Error('a membership without a merchant')
    const { theme = 'light', state = 'open' } = request.query
    const branding = withDraft(saved, request.query)
    const now = clock.now()
    const payment = samplePayment(branding, state, now)
    const methods = CHANNELS.map((channel) => ({ channel, amountCharged: AMOUNT }))
    const shown = {
      ...{
        state: { payment, attempts: [], cases: [] },
        branding,
        choices: { methods, cards: [], asksToSave: false },
        now,
      },
      ...{ mayCancel: true, shortLink: undefined, token: '', key: '', mayFrame: () => false },
    }
    const page = previewPage(documents, shown, {
      path: './preview',
      root: '../../../../../', // of /dashboard/api/merchants/mer_…/branding/preview
      input: { channel: undefined, sent: false, following: true },
      language: undefined,
      acceptLanguage: request.headers['accept-language'],
      theme,
      embeddedIn: undefined,
      saveData: false,
    })
    return sendPage(request, reply, 200, page)
  })

  app.get(
    `${BRANDING}/contrast`,
    { config, schema: { querystring: ContrastQuery, response: { 200: ContrastAnswer } } },
    (request) => ({ data: contrastReport(request.query.colour || null) }),
  )
}

function withDraft(saved: Branding, { name, colour, corners, language, logo }: BrandingDraft): Branding {
  const { brand } = saved
  return {
    ...saved,
    name: parseMerchantName(name ?? '') ?? saved.name,
    brand: {
      ...brand,
      colour: colour === undefined ? brand.colour : colour || null,
      corners: corners ?? brand.corners,
      language: language === undefined ? brand.language : language || null,
      logo: logo === 'none' ? null : brand.logo,
    },
  }
}

/** A payment that exists on this page only. */
function samplePayment({ place, merchantId }: Branding, state: 'open' | 'paid', now: Date): Payment {
  const isPaid = state === 'paid'
  return {
    ...{ id: newId('payment', now, place), place, merchantId, mode: 'live', reference: 'ORDER-1042' },
    ...{ shortCode: newShortCode(now, place), status: isPaid ? 'successful' : 'pending', late: false },
    ...{ amount: AMOUNT, amountPaid: isPaid ? AMOUNT : 0, amountRefunded: 0, sequence: 0, version: 0 },
    ...{ currency: DEFAULT_CURRENCY, country: 'NG' as Country, customerBearsCharge: false },
    user: { id: null, email: 'ada@example.com', phoneNumber: null, name: null },
    ...{ redirectURL: null, webhook: null, metadata: {}, link: null, createdAt: now },
    ...{ expiresAt: new Date(now.getTime() + HOUR_MS), completedAt: isPaid ? now : null },
  }
}
