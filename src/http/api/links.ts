import { Type } from 'typebox'
import { type Country, parseCountry } from '../../kernel/country.ts'
import { type LinkId, parseId } from '../../kernel/ids.ts'
import { DEFAULT_CURRENCY, parseCurrency } from '../../kernel/money.ts'
import type { Links } from '../../payments/links.ts'
import type { CreateDeps } from '../../payments/start/create-payment.ts'
import { withIdempotencyKey } from '../../payments/start/idempotent-call.ts'
import { changeLink, createLink, own } from '../../payments/start/manage-payment-links.ts'
import { type LinkTerms, linkStatus, type PaymentLink } from '../../payments/state/payment-link.ts'
import { findLink, listLinks } from '../../payments/store/payment-links.ts'
import { makeCursor, readCursor } from '../contract/cursor.ts'
import { type Link, LinkAnswer, LinkChanges, LinkRequest, LinksAnswer, LinksQuery } from '../contract/link.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../server/framework.ts'
import { IdempotencyHeaders, readIdempotencyKey } from '../server/idempotency.ts'
import { knownFields, readBody } from '../server/read-body.ts'

const DEFAULT_PAGE_SIZE = 20
const KNOWN = knownFields(LinkRequest)
const KNOWN_CHANGES = knownFields(LinkChanges)
const Named = Type.Object({ id: Type.String({ description: 'The `lnk_` id.' }) })

/** Reusable payment links. The dashboard has the same routes. */
export function linkRoutes(app: App, deps: CreateDeps & { links: Links }): void {
  const { database, links } = deps
  const tags = ['Links']

  app.post(
    '/links',
    {
      attachValidation: true,
      schema: {
        operationId: 'createLink',
        summary: 'Create a link',
        description:
          'A page that many customers can pay. Each of them makes a payment, which names the link as `link`.',
        tags,
        headers: IdempotencyHeaders,
        body: ref(LinkRequest),
        response: {
          201: LinkAnswer,
          ...problems(
            ...BODY_PROBLEMS,
            'too_many_links',
            'no_integration_available',
            'idempotency_in_progress',
            'idempotency_key_reused',
          ),
        },
      },
    },
    async (request, reply) => {
      const body = readBody<LinkRequest>(request, KNOWN)
      const call = { endpoint: 'links', reference: undefined, idempotency: readIdempotencyKey(request) }
      const { answer, replayed } = await withIdempotencyKey(deps, request.caller, call, async (context) =>
        linkView(await createLink(deps, request.caller, termsOf(body), body.expiresIn ?? null, context), links),
      )
      if (replayed) reply.header('idempotent-replayed', 'true')
      return reply.code(201).header('location', answer.url).send({ data: answer })
    },
  )

  app.get(
    '/links',
    {
      schema: {
        operationId: 'listLinks',
        summary: 'List links',
        description: 'Newest first.',
        tags,
        querystring: LinksQuery,
        response: { 200: LinksAnswer, ...problems('invalid_request') },
      },
    },
    async ({ caller, query: { limit, cursor } }) => {
      const pageSize = limit === undefined ? DEFAULT_PAGE_SIZE : Number(limit)
      const before = cursor === undefined ? undefined : readCursor('link', cursor)
      const found = await listLinks(database, caller, { before, limit: pageSize + 1 })
      const page = found.slice(0, pageSize)
      const last = page.at(-1)
      return {
        data: page.map((link) => linkView(link, links)),
        nextCursor: found.length > pageSize && last ? makeCursor(last.id) : null,
      }
    },
  )

  app.get(
    '/links/:id',
    {
      schema: {
        operationId: 'getLink',
        summary: 'Get a link',
        tags,
        params: Named,
        response: { 200: LinkAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => ({ data: linkView(own(await findLink(database, caller, idIn(params))), links) }),
  )

  app.patch(
    '/links/:id',
    {
      attachValidation: true,
      schema: {
        operationId: 'changeLink',
        summary: 'Change a link',
        description: 'Payments that were made with it before stay as they are.',
        tags,
        params: Named,
        body: ref(LinkChanges),
        response: { 200: LinkAnswer, ...problems(...BODY_PROBLEMS, 'not_found') },
      },
    },
    async (request) => {
      const body = readBody<LinkChanges>(request, KNOWN_CHANGES)
      return { data: linkView(await changeLink(deps, request.caller, idIn(request.params), changesOf(body)), links) }
    },
  )
}

function idIn({ id }: { id: string }): LinkId {
  return parseId('link', id) ?? own(undefined).id
}

function termsOf(body: LinkRequest): LinkTerms {
  return {
    title: body.title,
    description: body.description ?? null,
    amount: body.amount ?? null,
    minAmount: body.minAmount ?? null,
    maxAmount: body.maxAmount ?? null,
    currency: (body.currency && parseCurrency(body.currency)) || DEFAULT_CURRENCY,
    country: parseCountry(body.country) as Country,
    customerBearsCharge: body.customerBearsCharge ?? false,
    collectName: body.collectName ?? false,
    collectPhoneNumber: body.collectPhoneNumber ?? false,
    customField: body.customField ?? null,
    maxPayments: body.maxPayments ?? null,
    active: body.active ?? true,
    redirectURL: body.redirectURL ?? null,
    metadata: (body.metadata as Record<string, string> | null | undefined) ?? {},
  }
}

const REMOVABLE = ['description', 'amount', 'minAmount', 'maxAmount', 'customField', 'maxPayments', 'redirectURL']

/** Null removes a field that a link can be without, and leaves any other as it is. */
function changesOf({ expiresIn, ...body }: LinkChanges): Parameters<typeof changeLink>[3] {
  const fields = Object.entries(body).filter(
    ([name, value]) => name in LinkChanges.properties && (value !== null || REMOVABLE.includes(name)),
  )
  return { ...Object.fromEntries(fields), ...(expiresIn !== undefined && { expiresInSeconds: expiresIn }) }
}

function linkView(link: PaymentLink, links: Links): Link {
  return {
    id: link.id,
    url: links.reusable(link.code),
    mode: link.mode,
    status: linkStatus(link),
    title: link.title,
    description: link.description,
    amount: link.amount,
    minAmount: link.minAmount,
    maxAmount: link.maxAmount,
    currency: link.currency,
    country: link.country,
    customerBearsCharge: link.customerBearsCharge,
    collectName: link.collectName,
    collectPhoneNumber: link.collectPhoneNumber,
    customField: link.customField,
    maxPayments: link.maxPayments,
    timesPaid: link.timesPaid,
    active: link.active,
    redirectURL: link.redirectURL,
    metadata: link.metadata,
    createdAt: link.createdAt.toISOString(),
    expiresAt: link.expiresAt?.toISOString() ?? null,
  }
}
