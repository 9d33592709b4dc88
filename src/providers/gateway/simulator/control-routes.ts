import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type MerchantId, uuidOf } from '../../../kernel/ids.ts'
import type { Mode } from '../../../kernel/mode.ts'
import { answerPrompt, booksByNow } from './answer-prompt.ts'
import { cardOf, parseCardNumber } from './cards.ts'
import type { Dice } from './dice.ts'
import { findFaults, saveFaults } from './fault-store.ts'
import { NO_FAULTS } from './faults.ts'
import { isReference, readAnswer, readControlCharge, readFaults, readLedgerQuery, readTransfer } from './input.ts'
import type { Books, LedgerDeps } from './ledger.ts'
import { findPayment, findPaymentsAfter, findTransactions } from './ledger-store.ts'
import { placeOfMerchant } from './place.ts'
import { failureOf, ledgerOf, type Payment, recordOf, type Transaction } from './record.ts'
import { notFound, Refusal } from './refusal.ts'
import { reversalRoutes } from './reversal-routes.ts'
import { chargeCard, receiveTransfer } from './take-money.ts'

/** As much of a verifier of credentials as is needed here. */
export type VerifyCaller = (clientId: string, clientSecret: string) => Promise<Caller | undefined> | Caller | undefined

interface Caller {
  merchantId: MerchantId
  mode: Mode
  checkUse?(scope: 'payments:write', from: { readonly ip: string }): void
}

interface Deps {
  ledger: LedgerDeps
  dice: Dice
  verifyCredential: VerifyCaller
}

const HIDDEN = { schema: { hide: true } }
const YEARS_TO_EXPIRY = 4

/** Control routes: a merchant's tests act as the customer and set faults. */
export function controlRoutes(app: FastifyInstance, { ledger, dice, verifyCredential }: Deps): void {
  const { database, clock } = ledger

  /** The merchant behind a sandbox credential. With a live one there is nothing here. */
  async function merchantOf(request: FastifyRequest): Promise<string> {
    const { 'client-id': clientId, 'client-secret': clientSecret } = request.headers
    const given = typeof clientId === 'string' && typeof clientSecret === 'string'
    const caller = given ? await verifyCredential(clientId, clientSecret) : undefined
    if (!caller) throw new Refusal(401, 'unauthorized', 'Send client-id and client-secret of a sandbox credential.')
    caller.checkUse?.('payments:write', request)
    if (caller.mode !== 'sandbox') throw notFound('There is nothing here for live credentials.')
    return uuidOf(caller.merchantId)
  }

  async function paymentOf(merchantUuid: string, reference: unknown): Promise<Payment> {
    const payment = isReference(reference) ? await findPayment(database, merchantUuid, reference) : undefined
    if (!payment) throw notFound('There is no payment with this reference.')
    return payment
  }

  /** The record of the provider's API without the card token, which is for holders of the secret key only. */
  function shown({ payment, transactions }: Books) {
    const { savedCard, ...record } = recordOf(payment, transactions, ledger.publicUrl())
    if (!savedCard) return record
    const { token: _, ...card } = savedCard
    return { ...record, savedCard: card }
  }

  app.post<{ Params: { reference: string } }>('/charges/:reference', HIDDEN, async (request) => {
    const merchantUuid = await merchantOf(request)
    const { card: number, code, save } = readControlCharge(request.body)
    const payment = await paymentOf(merchantUuid, request.params.reference)
    const expiry = { month: 12, year: clock.now().getUTCFullYear() + YEARS_TO_EXPIRY }
    const { books, result, failure } = await chargeCard(ledger, await dice(merchantUuid), payment, {
      save,
      ...(number !== null && { card: cardOf(parseCardNumber(number) ?? '0000', expiry) }),
      ...(code !== null && { code }),
    })
    return { data: { ...shown(books), result, ...(failure && { failure: failureOf(failure) }) } }
  })

  app.post<{ Params: { reference: string } }>('/prompts/:reference', HIDDEN, async (request) => {
    const merchantUuid = await merchantOf(request)
    const answer = readAnswer(request.body)
    const payment = await paymentOf(merchantUuid, request.params.reference)
    return { data: shown(await answerPrompt(ledger, payment, answer, { chance: await dice(merchantUuid) })) }
  })

  app.post('/transfers', HIDDEN, async (request) => {
    const merchantUuid = await merchantOf(request)
    const transfer = readTransfer(request.body)
    return { data: shown(await receiveTransfer(ledger, await dice(merchantUuid), merchantUuid, transfer)) }
  })

  app.get<{ Querystring: Record<string, unknown> }>('/ledger', HIDDEN, async (request) => {
    const merchantUuid = await merchantOf(request)
    const { reference } = request.query
    if (reference !== undefined) {
      const { payment, transactions } = await booksByNow(ledger, await paymentOf(merchantUuid, reference), dice)
      return { data: ledgerOf(payment, transactions) }
    }
    const { after, limit } = readLedgerQuery(request.query)
    const payments = await findPaymentsAfter(database, merchantUuid, after, limit)
    const ids = payments.map(({ id }) => id)
    const byPayment = Map.groupBy(
      await findTransactions(database, placeOfMerchant(merchantUuid), ids),
      ({ paymentId }: Transaction) => paymentId,
    )
    return {
      data: payments.map((payment) => ledgerOf(payment, byPayment.get(payment.id) ?? [])),
      nextCursor: payments.length === limit ? String(ids.at(-1)) : null,
    }
  })

  app.put('/faults', HIDDEN, async (request) => {
    const merchantUuid = await merchantOf(request)
    const faults = readFaults(request.body)
    await saveFaults(database, merchantUuid, faults)
    return { data: faults }
  })

  app.get('/faults', HIDDEN, async (request) => {
    const found = await findFaults(database, await merchantOf(request))
    const { setAt: _, ...faults } = found ?? { ...NO_FAULTS, setAt: null }
    return { data: faults }
  })
  reversalRoutes(app, { ledger, dice, merchantOf })
}
