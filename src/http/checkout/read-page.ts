import { batch } from '../../database/batch.ts'
import type { Integration } from '../../integrations/integration.ts'
import type { IntegrationCache } from '../../integrations/integration-cache.ts'
import { listEnabledIntegrations } from '../../integrations/integration-store.ts'
import type { Channel } from '../../kernel/channel.ts'
import type { PaymentId } from '../../kernel/ids.ts'
import type { MobileNetwork } from '../../kernel/mobile-networks.ts'
import { Problem } from '../../kernel/problem.ts'
import { pooledRandomBytes } from '../../kernel/random.ts'
import type { Branding } from '../../merchants/branding.ts'
import type { FindBranding } from '../../merchants/branding-cache.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import type { Attempt } from '../../payments/state/attempt.ts'
import type { Payment } from '../../payments/state/payment.ts'
import { linkStatus } from '../../payments/state/payment-link.ts'
import { bestOptions, optionsForChannel, type PaymentOption } from '../../payments/state/payment-options.ts'
import { awaitsConfirmation, mayUseSavedCard, type PaymentState } from '../../payments/state/payment-state.ts'
import { findReceiptOf } from '../../payments/store/customer-receipts.ts'
import { findLinkById } from '../../payments/store/payment-links.ts'
import { findPaymentStateById } from '../../payments/store/payment-states.ts'
import { findPaymentsForPage, type PaymentOnPage } from '../../payments/store/payments.ts'
import { listCardsToPayWith } from '../../payments/store/saved-cards.ts'
import { offerOf } from '../../providers/capabilities.ts'
import type { PageAddress } from './embed.ts'
import type { KnownInput } from './parts.ts'
import type { PageData } from './payment-page.ts'
import type { Method, MethodChoices } from './screen.ts'

export interface FoundPage {
  address: PageAddress
  /** The payment as it was read, with what a page without the link does not show. */
  state: PaymentState
  branding: Branding
  hasCards: boolean
}

export interface PageReader {
  /** Reads the payment of a page. Requests that arrive together share one database query (batch). */
  read(address: PageAddress): Promise<FoundPage | undefined>
  /** What the page shows. `state`: if it is newer than the one that was read. */
  show(found: FoundPage, state?: PaymentState): Promise<PageData>
  /** The methods that the page offers, with what they ask for. */
  methods(payment: Payment): Promise<Method[]>
  /** Others have used up the payment link in the meantime: no new attempt is started. */
  isUsedUp(payment: Payment): Promise<boolean>
}

export function pageReader(
  deps: PaymentDeps & { findBranding: FindBranding; integrationCache: IntegrationCache },
): PageReader {
  const { database, clock, links, providers, secrets, findBranding, integrationCache } = deps
  const readPayment = batch<PaymentId, PaymentOnPage | undefined>({
    name: 'read pages',
    write: async (ids) => {
      const found = await findPaymentsForPage(database, ids)
      return ids.map((id) => found.get(id))
    },
    maxItems: 100,
    maxWaiting: 5_000,
    tooMany: () => new Problem('unavailable', 'Too many pages are asked for at once.', { retryAfterSeconds: 1 }),
    failsAll: () => true,
  })

  async function read(address: PageAddress): Promise<FoundPage | undefined> {
    const found = await readPayment(address.id)
    const branding = found && (await findBranding(found.payment))
    if (!found || !branding || branding.suspended) return undefined
    const { payment, hasCards } = found
    // Sequence 0: nothing has happened yet, so there are no attempts to read.
    const whole = payment.sequence === 0 ? undefined : await findPaymentStateById(database, address.id)
    return { address, state: whole ?? { payment, attempts: [], cases: [] }, branding, hasCards }
  }

  async function show(
    { address: { bare, mayCancel }, state: before, branding, hasCards }: FoundPage,
    state: PaymentState = before,
  ): Promise<PageData> {
    const { payment } = state
    const isOpen = payment.status === 'pending'
    // Who knows the reference alone gets no mail to an address of their choice.
    const receipt = payment.status === 'successful' && !bare ? await findReceiptOf(database, payment.id) : undefined
    return {
      state: forVisitor(state, bare),
      branding,
      known: bare ? {} : knownOf(state),
      // A bare page shows no saved cards and no link.
      choices:
        isOpen && !(await isUsedUp(payment))
          ? await methodChoicesFor(state, {
              withCards: !bare && (hasCards || state.attempts.some(awaitsConfirmation)),
              mayAsk: !bare,
            })
          : NO_CHOICES,
      mayCancel,
      shortLink: bare ? undefined : links.short(payment.shortCode),
      receipt,
      token: isOpen || receipt?.isOffered ? secrets.sign(payment.id, FORM) : '',
      key: isOpen ? pooledRandomBytes(12).toString('base64url') : '',
      mayFrame: (provider) => providers.find(provider)?.capabilities.framed ?? false,
      now: clock.now(),
    }
  }

  async function isUsedUp({ link }: Payment): Promise<boolean> {
    const found = link === null ? undefined : await findLinkById(database, link)
    return found !== undefined && linkStatus(found) === 'used_up'
  }

  /** The best option of each channel, and the integrations that have them. */
  async function optionsFor(payment: Payment): Promise<{ offers: PaymentOption[]; current: Integration[] }> {
    const integrations = await integrationCache.get(payment)
    const cached = bestOptions(payment, integrations, providers)
    // The cache may be older than an integration that was just set up, so an empty list is checked against the
    // database.
    const current = cached.length > 0 ? integrations : await listEnabledIntegrations(database, payment)
    return { current, offers: cached.length > 0 ? cached : bestOptions(payment, current, providers) }
  }

  async function methods(payment: Payment): Promise<Method[]> {
    const { offers, current } = await optionsFor(payment)
    const all = offers.map((offer) => methodOf(payment, current, offer))
    if (!MOBILE_MONEY_FIRST.has(payment.country)) return all
    const rank = (method: Method) => Number(!isOf('mobile-money')(method))
    return all.toSorted((a, b) => rank(a) - rank(b))
  }

  async function methodChoicesFor(
    state: PaymentState,
    { withCards, mayAsk }: { withCards: boolean; mayAsk: boolean },
  ): Promise<MethodChoices> {
    const { payment } = state
    const { offers, current } = await optionsFor(payment)
    const byCard = offers.find(isOf('card'))
    return {
      methods: await methods(payment),
      cards: withCards && byCard ? await savedCardsFor(state, current, byCard) : [],
      asksToSave: mayAsk && byCard !== undefined && !byCard.capabilities.pageAsksToSave,
    }
  }

  /** The customer chooses from the networks of all providers at this price. Codes of banks are one provider's own. */
  function methodOf(payment: Payment, integrations: Integration[], best: PaymentOption): Method {
    const { channel, amountCharged } = best
    const { currency, country } = payment
    const offer = offerOf(best.capabilities, channel, currency)
    if (!offer?.networks) return { channel, amountCharged, ...(offer?.banks && { banks: offer.banks }) }
    const offers = optionsForChannel(payment, integrations, providers, channel)
      .filter((option) => option.amountCharged <= amountCharged)
      .map((option) => offerOf(option.capabilities, channel, currency))
    const networks = new Set(offers.flatMap((each) => each?.networks?.[country] ?? []))
    const codeBeforehand = offers.flatMap((each) => each?.codeBeforehand?.[country] ?? [])
    const codeHelp = offers.find((each) => each?.codeHelp?.[country])?.codeHelp?.[country]
    const isOpen = (network: MobileNetwork) =>
      offers.some((each) => each?.networks?.[country]?.includes(network) && !each.closed?.[country]?.includes(network))
    const closed = [...networks].filter((network) => !isOpen(network))
    return {
      ...{ channel, amountCharged, networks: [...networks] },
      ...(codeBeforehand.length > 0 && { codeBeforehand, ...(codeHelp && { codeHelp }) }),
      ...(closed.length > 0 && { closed }),
    }
  }

  /** Saved cards of every provider that can charge them at the shown price. */
  async function savedCardsFor(
    state: PaymentState,
    integrations: Integration[],
    { amountCharged }: { amountCharged: number },
  ) {
    const { payment } = state
    const options = optionsForChannel(payment, integrations, providers, 'card').filter(
      (choice) => choice.amountCharged <= amountCharged,
    )
    const names = options.map(({ capabilities }) => capabilities.name)
    const cards = await listCardsToPayWith(database, payment, names, payment.user)
    return cards.filter(({ id }) => mayUseSavedCard(state, id))
  }

  return { read, show, methods, isUsedUp }
}

const isOf =
  (wanted: Channel) =>
  ({ channel }: { channel: Channel }) =>
    channel === wanted

/** Where most people pay by phone before anything else. */
const MOBILE_MONEY_FIRST: ReadonlySet<string> = new Set([
  'BF',
  'BJ',
  'CI',
  'CM',
  'GH',
  'KE',
  'ML',
  'MW',
  'MZ',
  'RW',
  'SN',
  'TG',
  'TZ',
  'UG',
  'ZM',
  'ZW',
])

/** What the customer has told before. */
function knownOf({ payment, attempts }: PaymentState): KnownInput {
  const { phoneNumber = payment.user.phoneNumber, network } =
    attempts.findLast(({ input }) => input?.phoneNumber !== undefined)?.input ?? {}
  return { ...(phoneNumber && { phoneNumber }), ...(network && { network }) }
}

/**
 * Removes attempts whose instructions show a saved card: all of them on a bare page, and links without `user.id`,
 * which initialize gave to the merchant only.
 */
export function withoutSavedCards(state: PaymentState, bare: boolean): PaymentState {
  const offersCard = ({ status, instructions }: Attempt) =>
    status === 'pending' &&
    instructions !== null &&
    'savedCard' in instructions &&
    (bare || (state.payment.user.id === null && instructions.kind === 'link'))
  return { ...state, attempts: state.attempts.filter((attempt) => !offersCard(attempt)) }
}

/** A page without the link shows nothing of the customer. */
function forVisitor(state: PaymentState, bare: boolean): PaymentState {
  const shown = withoutSavedCards(state, bare)
  if (!bare) return shown
  const attempts = shown.attempts.map((attempt) => {
    const { phoneNumber: _, ...input } = attempt.input ?? {}
    return { ...attempt, input }
  })
  return { ...shown, attempts }
}

const NO_CHOICES: MethodChoices = { methods: [], cards: [], asksToSave: false }
const FORM = 'payment page form'

/** CSRF protection: whether the form comes from our own page of this payment. */
export function hasValidToken({ secrets }: Pick<PaymentDeps, 'secrets'>, id: PaymentId, token: string): boolean {
  return secrets.verify(token, id, FORM)
}
