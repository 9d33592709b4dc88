import { randomBytes } from 'node:crypto'
import { sql } from '../../src/database/sql.ts'
import type { State } from '../../src/http/checkout/screen.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { newCheckout, transfer } from './customer.ts'
import { eventually, type PayingService, request, type Shop } from './paying.ts'
import { letPass } from './payment-records.ts'
import { charge as chargeOrder } from './sandbox-payments.ts'
import type { Answer } from './service.ts'
import { CARD } from './simulator.ts'

/** Numbers of MTN in Ghana, whose ends choose what the sandbox does. */
export const PROMPT = {
  approves: '055 123 4789',
  refuses: '055 123 4039',
  expires: '055 123 4069',
  wantsCode: '055 123 4059',
  neverAnswers: '055 123 4129',
}

/** A page with its forms, as in a browser without scripts. */
export interface OpenPage {
  url: string
  text: string
  state: string | undefined
  token: string
  /** Sends a form of this page. A field that is undefined is left out. */
  post(fields: Record<string, string | undefined>, headers?: Record<string, string>): Promise<Answer>
}

export async function openPage(url: string, headers: Record<string, string> = {}): Promise<OpenPage> {
  const { body } = await request(url, 'GET', headers)
  const text = String(body)
  const token = /name="token" value="([^"]*)"/.exec(text)?.[1] ?? ''
  return {
    url,
    text,
    state: stateIn(text),
    token,
    post: (fields, more = {}) => postForm(url, { token, key: randomBytes(8).toString('hex'), ...fields }, more),
  }
}

export function stateIn(text: string): string | undefined {
  return /<main id="panel" data-state="([^"]*)"/.exec(text)?.[1]
}

export function postForm(
  url: string,
  fields: Record<string, string | undefined>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value)
  return request(url, 'POST', { 'content-type': 'application/x-www-form-urlencoded', ...headers }, form.toString())
}

export interface Shown {
  id: PaymentId
  reference: string
  url: string
}

export type EveryState = Record<State, Shown>

/** A payment for every state of the page, reached by customer actions and time where possible. */
export async function everyState(service: PayingService, shop: Shop, changes: object = {}): Promise<EveryState> {
  const { database } = service
  const open = async (query = '', where: object = {}): Promise<Shown> => {
    const { id, url, reference } = await newCheckout(shop, { ...changes, ...where })
    return { id: id as PaymentId, reference, url: url + query }
  }
  const press = async (shown: Shown, method: string, fields: Record<string, string> = { card: 'new' }) => {
    await (await openPage(shown.url)).post({ action: 'pay', method, ...fields })
    return shown
  }
  const ghana = () => open('', { country: 'GH', currency: 'GHS' })
  const kenya = () => open('', { country: 'KE', currency: 'KES' })
  const charge = async (shown: Shown, card: string) => {
    const { attempts } = await shop.payment(shown.id)
    await chargeOrder(shop, attempts.at(-1).providerReference, card)
    return shown
  }
  const pay = async (shown: Shown) => {
    await charge(await press(shown, 'card'), CARD.pays)
    await eventually(
      () => shop.payment(shown.id),
      ({ status }) => status === 'successful',
    )
    return shown
  }

  const states: EveryState = {
    choose: await open(),
    processing: await press(await open(), 'card'),
    provider: await press(await open(), 'card'),
    awaiting: await press(await open(), 'transfer'),
    checking: await press(await open('?sent=1'), 'transfer'),
    partial: await press(await open(), 'transfer'),
    prompt: await press(await ghana(), 'mobile', { phoneNumber: PROMPT.expires }),
    code: await press(await ghana(), 'mobile', { phoneNumber: PROMPT.wantsCode }),
    pay_to: await press(await kenya(), 'mobile', { network: 'mpesa-paybill' }),
    dial: await press(await open(), 'ussd', { bank: '058' }),
    qr: await press(await open(), 'qr'),
    waiting: await press(await ghana(), 'mobile', { phoneNumber: PROMPT.neverAnswers }),
    failed: await charge(await press(await open(), 'card'), CARD.insufficientFunds),
    confirming: await charge(await press(await open(), 'card'), CARD.staysSilent),
    succeeded: await pay(await open('?back=1')),
    already_paid: await pay(await open()),
    cancelled: await open(),
    expired: await open(),
    account_expired: await press(await open(), 'transfer'),
    unpayable: await open(),
  }
  // Silent for longer than its 8 s: a busy machine would find the money before the page was opened.
  await database.rows(
    sql`update gateway_transactions set settles_at = now() + interval '1 hour' where settles_at is not null`,
  )
  await transfer(shop, states.partial.id, 1_000_000)
  await shop.call('POST', `/payments/v1/payments/${states.cancelled.id}/cancel`)
  await letPass(database, states.expired, 86_400)
  await letPass(database, states.account_expired, 1_801)
  await letPass(database, states.waiting, 121)
  // A call that a provider has not answered yet, for as long as the test may take.
  await database.rows(sql`
    update attempts set status = 'processing', instructions = null, created_at = now() + interval '1 hour', asked_at = now() + interval '1 hour'
     where payment_id = ${uuidOf(states.processing.id)}`)
  // A prompt lives for two minutes, which a test may take longer than.
  for (const { id } of [states.prompt, states.code, states.pay_to, states.dial, states.qr]) {
    await database.rows(sql`
      update attempts set instructions_expire_at = now() + interval '1 hour' where payment_id = ${uuidOf(id)}`)
  }
  // In a currency that no integration has any more.
  await database.rows(sql`update payments set currency = 'EUR' where id = ${uuidOf(states.unpayable.id)}`)
  await (await openPage(states.confirming.url)).post({ action: 'check' })
  // The page does not wait for a silent provider. The check ends at its deadline and is recorded then.
  await eventually(
    () =>
      database.rows(sql`
      select from provider_calls c join attempts a on a.id = c.attempt_id
       where a.payment_id = ${uuidOf(states.confirming.id)} and c.call = 'check'`),
    (checks) => checks.length > 0,
  )
  for (const [state, { url }] of Object.entries(states)) {
    await eventually(
      () => openPage(url),
      (page) => page.state === state,
    )
  }
  return states
}
