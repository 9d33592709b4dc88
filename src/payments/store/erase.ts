import type { Queries, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { phoneNumberForms } from '../../kernel/phone-number.ts'
import type { Place } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import { ERASED, type Eraser, eraserOf, type PersonalData } from '../state/personal-data.ts'
import { deleteReceiptsOf, hasReceiptAddress } from './customer-receipts.ts'
import { erasedKey } from './idempotent-calls.ts'
import { findCardsOfAddress } from './saved-cards.ts'

/** A shop may use one address for all its customers. */
const MAX_READ = 1_000
const MAX_DISTINCT = 100
/** The limit of the column: what replaces a short name is longer. */
const MAX_NOTE = 500

/**
 * The personal data of a customer, from their newest payments. Undefined if neither a payment nor a saved card has this
 * address.
 */
export async function findPersonalData(db: Queries, scope: Scope, email: string): Promise<PersonalData | undefined> {
  const rows = await db.rows<PersonalRow>(sql`
    select distinct user_email, user_name, user_phone_number, user_id from (
      select user_email, user_name, user_phone_number, user_id from payments
       where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and lower(user_email) = lower(${email})
       order by id desc limit ${MAX_READ}) of_customer
     limit ${MAX_DISTINCT}`)
  // Retention may have deleted the payments, and keeps the cards.
  const isKnown =
    rows.length > 0 || (await findCardsOfAddress(db, scope, email)) || (await hasReceiptAddress(db, scope, email))
  return isKnown ? personalDataOf(rows) : undefined
}

interface PersonalRow {
  user_email: string
  user_name: string | null
  user_phone_number: string | null
  user_id: string | null
}

function personalDataOf(rows: PersonalRow[]): PersonalData {
  return {
    emails: rows.map(({ user_email }) => user_email),
    names: rows.flatMap(({ user_name }) => user_name ?? []),
    phoneNumbers: rows.flatMap(({ user_phone_number }) => user_phone_number ?? []),
    userIds: [...new Set(rows.flatMap(({ user_id }) => user_id ?? []))],
    answers: [],
  }
}

/** Of the address, with and without an id of the merchant. */
export async function deleteCardsOf(tx: Transaction, scope: Scope, email: string): Promise<void> {
  await tx.rows(sql`
    delete from saved_cards
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and lower(email) = lower(${email})`)
}

interface ErasedPayment extends PersonalRow {
  id: string
  reference: string
  redirect_url: string | null
  webhook_url: string | null
  metadata: Record<string, string>
  idempotency_key: string | null
  answers: string[]
}

/**
 * Erases the personal data of the customer's next payments, and of everything that is stored with them. The payments
 * get another address, so that a repeat goes on with the others. Returns how many there were.
 */
export async function eraseNextPayments(
  tx: Transaction,
  scope: Scope,
  email: string,
  { personal, pseudonym }: { personal: PersonalData; pseudonym: string },
  limit: number,
): Promise<number> {
  const { place } = scope
  const payments = await tx.rows<ErasedPayment>(sql`
    select id, reference, redirect_url, webhook_url, metadata, idempotency_key, user_email, user_name, user_phone_number, user_id,
           -- The label of a custom field may have changed, so it is all metadata that is not the link's own.
           array(select name from jsonb_object_keys(metadata) as m (name)
                  where link_id is not null
                    and not exists (select from links l where l.place = ${place} and l.id = p.link_id and l.metadata ? name)) as answers
      from payments p
     where place = ${place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and lower(user_email) = lower(${email})
     order by id limit ${limit} for update`)
  if (payments.length === 0) return 0
  const ids = payments.map(({ id }) => id)
  const own = personalDataOf(payments)
  const dialled = await tx.rows<{ phone_number: string }>(sql`
    select distinct input->>'phoneNumber' as phone_number from attempts
     where place = ${place} and payment_id = any(${ids}::uuid[]) and input->>'phoneNumber' is not null`)
  const paidFrom = dialled.flatMap(({ phone_number: number }) => phoneNumberForms(number))
  const eraser = eraserOf(
    {
      emails: [...personal.emails, ...own.emails, email],
      names: [...personal.names, ...own.names],
      phoneNumbers: [...personal.phoneNumbers, ...own.phoneNumbers, ...paidFrom],
      userIds: [...personal.userIds, ...own.userIds],
      answers: payments.flatMap(({ answers }) => answers),
    },
    pseudonym,
  )
  await erasePayments(tx, place, payments, eraser)
  await eraseEvents(tx, place, ids, eraser)
  await eraseAttempts(tx, scope, ids, eraser)
  await eraseTexts(tx, place, ids, eraser)
  await deleteReceiptsOf(tx, place, ids)
  // A call is found by the reference that was chosen with its key: of the payment, or of the refund.
  const refunds = await tx.rows<{ reference: string }>(sql`
    select call_reference as reference from refunds
     where place = ${place} and payment_id = any(${ids}::uuid[]) and call_reference is not null`)
  const references = [...payments, ...refunds].map(({ reference }) => reference)
  await eraseAnswers(tx, scope, references, eraser)
  return payments.length
}

async function erasePayments(tx: Transaction, place: Place, payments: ErasedPayment[], eraser: Eraser): Promise<void> {
  const erased = (text: string | null) => text && eraser.text(text)
  const rows = payments.map(({ id, redirect_url, webhook_url, metadata, idempotency_key: key }) => ({
    id,
    redirect_url: erased(redirect_url),
    webhook_url: erased(webhook_url),
    metadata: eraser.json({ metadata }).metadata,
    // A key is unique, so one that names the customer becomes another one.
    idempotency_key: key && eraser.text(key) !== key ? `${ERASED}-${id}` : key,
  }))
  // The new version makes writes fail that were decided on the old data.
  await tx.rows(sql`
    update payments p
       set user_email = ${eraser.email}, user_name = null, user_phone_number = null, user_id = null, redirect_url = n.redirect_url,
           webhook_url = n.webhook_url, metadata = n.metadata, idempotency_key = n.idempotency_key, version = p.version + 1
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
           as n (id uuid, redirect_url text, webhook_url text, metadata jsonb, idempotency_key text)
     where p.place = ${place} and p.id = n.id`)
}

async function eraseEvents(tx: Transaction, place: Place, ids: string[], eraser: Eraser): Promise<void> {
  const events = await tx.rows<{ id: string; data: object; body: string | null }>(sql`
    select id, data, body from events where place = ${place} and payment_id = any(${ids}::uuid[])`)
  const rows = events.map(({ id, data, body }) => ({
    id,
    data: eraser.json(data),
    body: body && JSON.stringify(eraser.json(JSON.parse(body))),
  }))
  // Events are append-only otherwise: see the trigger.
  await tx.rows(sql`select set_config('manilla.erasing', 'on', true)`)
  await tx.rows(sql`
    update events e set data = n.data, body = n.body
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as n (id uuid, data jsonb, body text)
     where e.place = ${place} and e.id = n.id`)
  await tx.rows(sql`select set_config('manilla.erasing', 'off', true)`)
}

function withoutPersonalId(instructions: object | null): object | null {
  if (!instructions) return null
  const { personalId, ...rest } = instructions as { personalId?: string }
  return rest
}

interface ErasedAttempt {
  id: string
  provider: string
  order_reference: string
  provider_reference: string
  failure: object | null
  instructions: object | null
}

async function eraseAttempts(tx: Transaction, scope: Scope, ids: string[], eraser: Eraser): Promise<void> {
  const { place } = scope
  const attempts = await tx.rows<ErasedAttempt>(sql`
    select id, provider, order_reference, provider_reference, failure, instructions from attempts
     where place = ${place} and payment_id = any(${ids}::uuid[])`)
  const rows = attempts.map(({ id, failure, instructions }) => ({
    id,
    failure: eraser.json(failure),
    instructions: eraser.json(withoutPersonalId(instructions)),
  }))
  const { pattern } = eraser
  await tx.rows(sql`
    update attempts a
       set failure = n.failure, instructions = n.instructions, input = a.input - 'phoneNumber'
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as n (id uuid, failure jsonb, instructions jsonb)
     where a.place = ${place} and a.id = n.id`)
  const attemptIds = attempts.map(({ id }) => id)
  await tx.rows(sql`
    update provider_calls c set detail = regexp_replace(c.detail, ${pattern}, ${ERASED}, 'gi')
     where c.place = ${place} and c.attempt_id = any(${attemptIds}::uuid[]) and c.detail ~* ${pattern}`)
  // The body is sealed and names the customer. Nothing reads it: what we need of it is in `reading`.
  await tx.rows(sql`
    update notices n set body = '', reading = n.reading - 'personalFacts', note = regexp_replace(n.note, ${pattern}, ${ERASED}, 'gi')
     where n.place = ${place} and n.attempt_id = any(${attemptIds}::uuid[])`)
  await eraseOpenNotices(tx, scope, attempts)
}

/**
 * Notices about the attempts that are not processed yet, or could not be matched: they name the order, and no attempt.
 */
async function eraseOpenNotices(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  attempts: ErasedAttempt[],
): Promise<void> {
  const merchant = uuidOf(merchantId)
  const providers = [...new Set(attempts.map(({ provider }) => provider))]
  const references = attempts.flatMap((attempt) => [attempt.order_reference, attempt.provider_reference])
  await tx.rows(sql`
    update notices n set body = '', reading = n.reading - 'personalFacts' from (
      select id from notices
       where place = ${place} and state = 'unmatched' and merchant_id = ${merchant} and mode = ${mode} and provider = any(${providers})
         and reference = any(${references})
      union all
      select id from notices
       where place = ${place} and state = 'waiting' and merchant_id = ${merchant} and mode = ${mode} and reference = any(${references})) f
     where n.place = ${place} and n.id = f.id`)
}

/** What people, providers and the merchant's servers wrote about the payments. */
async function eraseTexts(tx: Transaction, place: Place, ids: string[], { pattern }: Eraser): Promise<void> {
  await tx.rows(sql`
    update refunds r
       set reason = regexp_replace(r.reason, ${pattern}, ${ERASED}, 'gi'), failure = regexp_replace(r.failure, ${pattern}, ${ERASED}, 'gi'),
           account_needed = regexp_replace(r.account_needed, ${pattern}, ${ERASED}, 'gi')
     where r.place = ${place} and r.payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`
    update cases c
       set summary = regexp_replace(c.summary, ${pattern}, ${ERASED}, 'gi'), note = left(regexp_replace(c.note, ${pattern}, ${ERASED}, 'gi'), ${MAX_NOTE})
     where c.place = ${place} and c.payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`
    update disputes d set reason = regexp_replace(d.reason, ${pattern}, ${ERASED}, 'gi')
     where d.place = ${place} and d.payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`
    update reviews v set note = left(regexp_replace(v.note, ${pattern}, ${ERASED}, 'gi'), ${MAX_NOTE})
     where v.place = ${place} and v.payment_id = any(${ids}::uuid[])`)
  await tx.rows(sql`
    update deliveries d set url = regexp_replace(d.url, ${pattern}, ${ERASED}, 'gi')
      from events e
     where e.place = ${place} and e.payment_id = any(${ids}::uuid[]) and d.place = ${place} and d.event_id = e.id and d.url ~* ${pattern}`)
  await tx.rows(sql`
    update delivery_tries t
       set answer = regexp_replace(t.answer, ${pattern}, ${ERASED}, 'gi'), error = regexp_replace(t.error, ${pattern}, ${ERASED}, 'gi')
      from events e join deliveries d on d.place = ${place} and d.event_id = e.id
     where e.place = ${place} and e.payment_id = any(${ids}::uuid[]) and t.place = ${place} and t.delivery_id = d.id
       and (t.answer ~* ${pattern} or t.error ~* ${pattern})`)
}

/** Keys and answers of calls with an idempotency key. They are kept for 48 hours. */
async function eraseAnswers(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  references: string[],
  eraser: Eraser,
): Promise<void> {
  const merchant = uuidOf(merchantId)
  const calls = await tx.rows<{ endpoint: string; key: string; answer: object | null }>(sql`
    select endpoint, key, answer from idempotent_calls
     where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and reference = any(${references})`)
  if (calls.length === 0) return
  const rows = calls.map(({ endpoint, key, answer }) => ({
    ...{ endpoint, key, answer: eraser.json(answer) },
    erased_key: eraser.text(key) === key ? key : erasedKey(key),
  }))
  await tx.rows(sql`
    update idempotent_calls c set key = n.erased_key, answer = n.answer
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as n (endpoint text, key text, erased_key text, answer jsonb)
     where c.place = ${place} and c.merchant_id = ${merchant} and c.mode = ${mode} and c.endpoint = n.endpoint and c.key = n.key`)
}
