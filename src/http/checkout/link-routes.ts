import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../kernel/problem.ts'
import { pooledRandomBytes } from '../../kernel/random.ts'
import { parseLanguage } from '../../merchants/branding.ts'
import type { PaymentBatch } from '../../payments/start/create-payment.ts'
import { payLink } from '../../payments/start/pay-link.ts'
import { linkStatus } from '../../payments/state/payment-link.ts'
import { findLinkByCode } from '../../payments/store/payment-links.ts'
import type { App } from '../server/framework.ts'
import { EMPTY, type FieldMistake, type LinkValues, readLinkForm, valuesIn } from './link-form.ts'
import { type LinkVisit, linkEndedPage, linkPage } from './link-page.ts'
import { type CheckoutDeps, isCrossSite, NO_STORE, SHORT_CODE, sendUnknownPayment } from './page-routes.ts'
import { sendPage } from './send-page.ts'
import { languageFor } from './texts/texts.ts'

type LinkRequest = FastifyRequest<{ Params: { code: string }; Querystring: Record<string, unknown> }>

const HIDDEN = { schema: { hide: true } }
const FORM = 'link page form'
const KEY = /^[\w-]{16}$/

/** The pages of reusable links, beside the payment pages: they share limits, error pages and the parser of forms. */
export function linkPageRoutes(app: App, deps: CheckoutDeps & { paymentBatch: PaymentBatch }): void {
  const { database, links, limits, documents, secrets } = deps

  app.get('/l/:code', HIDDEN, async (request: LinkRequest, reply) => {
    const visit = await visitOf(request)
    if (!visit) return sendUnknownPayment(request, reply, deps)
    const status = linkStatus(visit.link)
    if (status !== 'active') return sendPage(request, reply, 410, linkEndedPage(documents, visit, status))
    return sendForm(request, reply, visit, { status: 200 })
  })

  app.post('/l/:code', HIDDEN, async (request: LinkRequest, reply) => {
    const visit = await visitOf(request)
    if (!visit) return sendUnknownPayment(request, reply, deps)
    const { link } = visit
    const status = linkStatus(link)
    if (status !== 'active') return sendPage(request, reply, 410, linkEndedPage(documents, visit, status))
    const sent = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    const values = valuesIn(sent)
    const key = sent.get('key') ?? ''
    const isOurs = KEY.test(key) && secrets.verify(sent.get('token') ?? '', `${link.id} ${key}`, FORM)
    if (!isOurs || isCrossSite(request, links.reusable(link.code)))
      return sendForm(request, reply, visit, { status: 403, values })
    const { form, mistakes } = readLinkForm(link, values)
    if (!form) return sendForm(request, reply, visit, { status: 422, values, mistakes })
    limits.linkPayment(request, link.id)
    try {
      const { id } = await payLink(deps, link, { ...form, key })
      // Relative: form-action allows our own origin only, and PUBLIC_URL may have another name for it.
      return reply.headers(NO_STORE).redirect(`../pay/${id}${visit.query}`, 303)
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'no_integration_available') throw error
      return sendPage(request, reply, 422, linkEndedPage(documents, visit, 'unpayable'))
    }
  })

  async function visitOf({ params, query, headers }: LinkRequest): Promise<LinkVisit | undefined> {
    const link = SHORT_CODE.test(params.code) ? await findLinkByCode(database, params.code) : undefined
    const branding = link && (await deps.findBranding(link))
    if (!link || !branding || branding.suspended) return undefined
    const asked = typeof query.lang === 'string' ? parseLanguage(query.lang.slice(0, 2).toLowerCase()) : undefined
    const language = languageFor(asked, branding.brand.language, headers['accept-language'])
    return { link, branding, language, here: `./${link.code}`, query: asked ? `?lang=${asked}` : '' }
  }

  function sendForm(
    request: LinkRequest,
    reply: FastifyReply,
    visit: LinkVisit,
    { status, values = EMPTY, mistakes = [] }: { status: number; values?: LinkValues; mistakes?: FieldMistake[] },
  ): Promise<FastifyReply> {
    const key = pooledRandomBytes(12).toString('base64url')
    const token = secrets.sign(`${visit.link.id} ${key}`, FORM)
    return sendPage(request, reply, status, linkPage(documents, visit, { token, key, values, mistakes }))
  }
}
