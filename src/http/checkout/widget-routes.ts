import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { type Assets, WIDGET_VERSION } from '../../../web/build.ts'
import type { Database } from '../../database/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { html } from '../../kernel/html.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { allowsOrigin, type Branding } from '../../merchants/branding.ts'
import type { FindBranding } from '../../merchants/branding-cache.ts'
import { findLiveCredential } from '../../merchants/credential-store.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import { findPaymentState } from '../../payments/store/payment-states.ts'
import { STATUS } from '../contract/problem.ts'
import type { App } from '../server/framework.ts'
import type { Limits } from '../server/limits.ts'
import { toProblem } from '../server/problems.ts'
import { prepareText } from '../server/static-text.ts'
import type { Documents } from './document.ts'
import { embedId, readWidgetToken, tokenEmbedId } from './embed.ts'
import { sendUnknownPayment } from './page-routes.ts'

interface Deps {
  database: Database
  secrets: SecretBox
  clock: Clock
  log: Logger
  limits: Limits
  assets: Assets
  documents: Documents
  findBranding: FindBranding
}

/** The widget's scripts, and the URL that its frame opens first. */
export async function widgetRoutes(app: App, deps: Deps): Promise<void> {
  await serveScripts(app, deps.assets)
  await app.register(async (opening: App) => openingRoute(opening, deps))
}

const FOR_EVERY_SITE = { 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' }
const SCRIPT = 'text/javascript; charset=utf-8'
const CHANGING = 'public, max-age=300, must-revalidate'
const IMMUTABLE = 'public, max-age=31536000, immutable'

async function serveScripts(app: App, assets: Assets): Promise<void> {
  const exact = `/widget/v${WIDGET_VERSION}.js`
  const texts: [path: string, type: string, cache: string, text: string][] = [
    ['/widget/v1.js', SCRIPT, CHANGING, assets.widgetScript],
    ['/widget/v1.mjs', SCRIPT, CHANGING, assets.widgetModule],
    ['/widget/v1.d.ts', 'text/plain; charset=utf-8', CHANGING, assets.widgetTypes],
    [exact, SCRIPT, IMMUTABLE, assets.widgetScript],
    ['/widget/integrity.json', 'application/json; charset=utf-8', CHANGING, integrityOf(assets, exact)],
  ]
  for (const [path, type, cache, text] of texts) {
    const send = await prepareText(text, { ...FOR_EVERY_SITE, 'content-type': type, 'cache-control': cache })
    app.get(path, { schema: { hide: true } }, send)
  }
}

/** Hashes of every script that a customer's browser runs, for merchants' PCI records. */
function integrityOf(assets: Assets, exact: string): string {
  const file = (path: string, text: string) => ({ path, inline: false, integrity: hashOf('sha384', text) })
  const inline = (path: string, text: string) => ({ path, inline: true, integrity: hashOf('sha256', text) })
  const scripts = [
    file(exact, assets.widgetScript),
    file('/widget/v1.js', assets.widgetScript),
    file('/widget/v1.mjs', assets.widgetModule),
    inline('/widget/open', ERROR_SCRIPT),
    inline('/pay/{id}', assets.checkoutScript),
  ]
  return JSON.stringify({ scripts }, null, 2)
}

function hashOf(algorithm: 'sha256' | 'sha384', text: string): string {
  return `${algorithm}-${createHash(algorithm).update(text).digest('base64')}`
}

/**
 * Resolves a client-id and a reference to an embed id. Both are public, so the page behind it shows nothing private;
 * merchants in strict mode also require a widget token. Without `origin` it is the full page instead of a frame.
 */
function openingRoute(app: App, deps: Deps): void {
  const { database, secrets, clock, log, limits, findBranding } = deps
  app.addHook('onRequest', async (request) => {
    limits.page(request)
    limits.beforeLink(request)
  })

  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error, request, log)
    if (problem.retryAfterSeconds !== undefined) reply.header('retry-after', String(problem.retryAfterSeconds))
    return sendError(reply, STATUS[problem.code], 'unknown')
  })

  app.get<{ Querystring: Record<string, unknown> }>(
    '/widget/open',
    { schema: { hide: true } },
    async (request, reply) => {
      const asked = (name: string) => readName(request.query[name])
      const shop = await findShop(asked('client-id'))
      const isFramed = request.query.origin !== undefined
      const origin = asked('origin') ?? ''
      // Checked before the payment is read, so that a foreign site cannot probe references.
      if (shop && isFramed && !(isOrigin(origin) && allowsOrigin(shop, origin)))
        return sendError(reply, 403, 'origin_not_allowed')

      const reference = asked('reference')
      const state = shop && reference ? await findAllowed(shop, reference, asked('token')) : undefined
      if (!state) {
        if (!isFramed) return sendUnknownPayment(request, reply, deps)
        limits.wrongLink(request)
        return sendError(reply, 404, 'not_found', shop && origin)
      }
      const query = new URLSearchParams(isFramed ? { embed: '1', origin } : {})
      for (const name of ['lang', 'theme']) {
        const wanted = asked(name)
        if (wanted) query.set(name, wanted)
      }
      const sealId = hasToken(state, asked('token')) ? tokenEmbedId : embedId
      const page = `../pay/${sealId(secrets, state.payment.id, clock.now())}`
      return reply.headers(NO_STORE).redirect(query.size > 0 ? `${page}?${query}` : page, 302)
    },
  )

  async function findShop(clientId: string | undefined): Promise<Branding | undefined> {
    const known = clientId ? await findLiveCredential(database, clientId) : undefined
    return known && !known.caller.suspended ? findBranding(known.caller) : undefined
  }

  function hasToken({ payment }: PaymentState, token = ''): boolean {
    return readWidgetToken(secrets, token, clock.now()) === payment.id
  }

  async function findAllowed(shop: Branding, reference: string, token = ''): Promise<PaymentState | undefined> {
    if (shop.widget === 'open') return findPaymentState(database, shop, reference)
    // The token is checked before the payment is read, so that response times reveal nothing.
    const id = readWidgetToken(secrets, token, clock.now())
    const state = id && (await findPaymentState(database, shop, reference))
    return state?.payment.id === id ? state : undefined
  }
}

/** A client-id, reference, token or origin: 1 to 200 printable ASCII characters. */
function readName(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value) ? value : undefined
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

const NO_STORE = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex' }

type ErrorCode = 'not_found' | 'origin_not_allowed' | 'unknown'

const ERROR_SCRIPT = `{const{code,to}=document.documentElement.dataset;parent.postMessage({pay:1,type:'error',code},to)}`
const ERROR_SCRIPT_HASH = hashOf('sha256', ERROR_SCRIPT)

/** Reports the error to the widget by postMessage, to the merchant's registered origin if it is known. */
function sendError(reply: FastifyReply, status: number, code: ErrorCode, to = '*'): FastifyReply {
  const page = html`<!doctype html>
<html lang="en" data-code="${code}" data-to="${to}">
<meta charset="utf-8">
<title>Payment</title>
<p>This payment can’t be shown here.</p>
`.text
  return reply
    .code(status)
    .headers({
      ...NO_STORE,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; script-src '${ERROR_SCRIPT_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors ${to}`,
    })
    .send(`${page}<script>${ERROR_SCRIPT}</script>\n`)
}
