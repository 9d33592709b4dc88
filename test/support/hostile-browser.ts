import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { type AttemptId, type MerchantId, newId, type PaymentId, placeOf, uuidOf } from '../../src/kernel/ids.ts'
import type { Shown } from './every-state.ts'
import type { Shop } from './paying.ts'

export interface Attacked {
  context: BrowserContext
  page: Page
  /** Scripts that ran, dialogs that opened, what the policy had to stop, and whoever else was asked for anything. */
  harm: string[]
}

/** A browser that tells of everything that must not happen. */
export async function attack(
  browser: Browser,
  baseUrl: string,
  options: { hosts?: string[]; headers?: Record<string, string> } = {},
): Promise<Attacked> {
  const context = await browser.newContext(options.headers ? { extraHTTPHeaders: options.headers } : {})
  const harm: string[] = []
  const allowed = [new URL(baseUrl).host, ...(options.hosts ?? [])]
  await context.exposeBinding('pwned', ({ frame }) => void harm.push(`a script ran on ${frame.url()}`))
  await context.exposeBinding('stopped', (_, what) => void harm.push(`the policy had to stop ${what}`))
  await context.addInitScript(
    `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => stopped(violatedDirective + ' ' + blockedURI))`,
  )
  await context.route(
    ({ host, protocol }) => protocol.startsWith('http') && !allowed.includes(host),
    (route) => {
      harm.push(`asked ${route.request().url()}`)
      return route.abort()
    },
  )
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  page.on('dialog', (dialog) => {
    harm.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return { context, page, harm }
}

export interface Copied {
  text: string
  url: string
  id: PaymentId
  attempt: AttemptId
}

/**
 * A copy of a payment for each text, with that text wherever a row can hold it: also where the door would not have let
 * it in.
 */
export async function copiesWith(
  database: Database,
  shop: Shop,
  { id, url }: Shown,
  texts: string[],
  redirectURL = (text: string) => `https://shop.example/?q=${text.replaceAll(/[\s\\\p{Cc}]/gu, '')}`,
): Promise<Copied[]> {
  const now = new Date()
  const place = placeOf(id)
  const copies = texts.map((text) => ({
    text,
    id: newId('payment', now, place),
    attempt: newId('attempt', now, place),
    merchant: newId('merchant', now) as MerchantId,
  }))
  const values = JSON.stringify(
    copies.map((copy, index) => ({
      text: copy.text,
      name: [...copy.text].slice(0, 200).join('') || 'Shop',
      redirect: redirectURL(copy.text),
      code: `${copy.id.slice(-9)}${index}`,
      id: uuidOf(copy.id),
      attempt: uuidOf(copy.attempt),
      merchant: uuidOf(copy.merchant),
    })),
  )
  await database.transaction(async (tx) => {
    await tx.rows(sql`
      create temporary table given (text text, name text, redirect text, code text, id uuid, attempt uuid, merchant uuid) on commit drop`)
    await tx.rows(sql`insert into given select * from jsonb_populate_recordset(null::given, ${values}::jsonb)`)
    await tx.rows(sql`
      insert into merchants select (jsonb_populate_record(m, jsonb_build_object('id', g.merchant, 'name', g.name))).*
        from merchants m, given g where m.id = ${shop.merchantUuid}`)
    await tx.rows(sql`
      insert into integrations select (jsonb_populate_record(i, jsonb_build_object('merchant_id', g.merchant))).*
        from integrations i, given g where i.merchant_id = ${shop.merchantUuid}`)
    await tx.rows(sql`
      insert into payments select (jsonb_populate_record(p, jsonb_build_object(
          'id', g.id, 'merchant_id', g.merchant, 'short_code', g.code, 'reference', g.text, 'redirect_url', g.redirect,
          'user_name', g.text, 'user_phone_number', g.text, 'user_email', g.text, 'metadata', jsonb_build_object(g.text, g.text)))).*
        from payments p, given g where p.id = ${uuidOf(id)}`)
    await tx.rows(sql`
      insert into attempts select (jsonb_populate_record(a, jsonb_build_object(
          'id', g.attempt, 'payment_id', g.id, 'merchant_id', g.merchant, 'reference', g.attempt, 'order_reference', g.attempt,
          'instructions', case when a.instructions ->> 'kind' = 'account'
            then a.instructions || jsonb_build_object('accountName', g.text, 'bankName', g.text, 'accountNumber', g.text)
            else a.instructions end))).*
        from attempts a, given g where a.payment_id = ${uuidOf(id)}`)
  })
  return copies.map(({ text, id: copied, attempt }) => ({
    text,
    id: copied,
    attempt,
    url: url.replace(id, copied),
  }))
}
