import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { merchantOfKey } from '../keys.ts'
import { booksByNow, giveCode } from './answer-prompt.ts'
import type { Dice } from './dice.ts'
import { listDisputes, listRefunds, returnsOf } from './disputes.ts'
import { type CallFault, type Chance, callFault } from './faults.ts'
import type { HeldSockets } from './held-sockets.ts'
import {
  isReference,
  readChargeRequest,
  readCode,
  readLedgerQuery,
  readPaymentRequest,
  readRefundRequest,
  readSettlementId,
  readTransactionsQuery,
} from './input.ts'
import { type Books, booksOf, type LedgerDeps } from './ledger.ts'
import { findPayment } from './ledger-store.ts'
import { listTaken } from './list-taken.ts'
import { openAndCharge, openPayment } from './open-payment.ts'
import { isSilent, recordOf } from './record.ts'
import { refundPayment } from './refund-payment.ts'
import { notFound, Refusal } from './refusal.ts'
import { listLines, listSettlements, settleDays } from './settlements.ts'

interface Deps {
  ledger: LedgerDeps
  dice: Dice
  held: HeldSockets
  masterKey: Buffer
}

/** `silence`: the work was done, and the caller never hears of it. */
type Answer = { status: number; data: unknown } | 'silence'
type Work = (call: { merchantUuid: string; chance: Chance; request: FastifyRequest }) => Promise<Answer>

const HIDDEN = { schema: { hide: true } }

/** What an adapter calls, with a secret key. Here the faults strike. */
export function apiRoutes(app: FastifyInstance, { ledger, dice, held, masterKey }: Deps): void {
  const record = ({ payment, transactions }: Books) => recordOf(payment, transactions, ledger.publicUrl())

  app.post(
    '/v1/payments',
    HIDDEN,
    answering(async ({ merchantUuid, request }) => {
      const { isNew, books } = await openPayment(ledger, merchantUuid, readPaymentRequest(request.body))
      return { status: isNew ? 201 : 200, data: record(books) }
    }),
  )

  app.post(
    '/v1/charges',
    HIDDEN,
    answering(async ({ merchantUuid, chance, request }) => {
      const { books } = await openAndCharge(ledger, chance, merchantUuid, readChargeRequest(request.body))
      return isSilent(books.payment, books.transactions) ? 'silence' : { status: 200, data: record(books) }
    }),
  )

  app.get(
    '/v1/payments/:reference',
    HIDDEN,
    answering(async ({ merchantUuid, request }) => {
      const { reference } = request.params as { reference: string }
      const payment = isReference(reference) ? await findPayment(ledger.database, merchantUuid, reference) : undefined
      if (!payment) throw notFound('There is no payment with this reference.')
      const books = await booksByNow(ledger, payment, dice)
      return isSilent(payment, books.transactions) ? 'silence' : { status: 200, data: record(books) }
    }),
  )

  app.post(
    '/v1/payments/:reference/input',
    HIDDEN,
    answering(async ({ merchantUuid, chance, request }) => {
      const { reference } = request.params as { reference: string }
      const payment = isReference(reference) ? await findPayment(ledger.database, merchantUuid, reference) : undefined
      if (!payment) throw notFound('There is no payment with this reference.')
      return { status: 200, data: record(await giveCode(ledger, payment, readCode(request.body), chance)) }
    }),
  )

  app.get(
    '/v1/payments/:reference/returns',
    HIDDEN,
    answering(async ({ merchantUuid, request }) => {
      const { reference } = request.params as { reference: string }
      const payment = isReference(reference) ? await findPayment(ledger.database, merchantUuid, reference) : undefined
      if (!payment) throw notFound('There is no payment with this reference.')
      return { status: 200, data: await returnsOf(ledger, await booksOf(ledger.database, payment)) }
    }),
  )

  for (const [name, list] of Object.entries({
    transactions: listTaken,
    refunds: listRefunds,
    disputes: listDisputes,
  })) {
    app.get(
      `/v1/${name}`,
      HIDDEN,
      answering(async ({ merchantUuid, request }) => ({
        status: 200,
        data: await list(ledger, merchantUuid, readTransactionsQuery(request.query as Record<string, unknown>)),
      })),
    )
  }

  app.get(
    '/v1/settlements',
    HIDDEN,
    answering(async ({ merchantUuid, chance, request }) => {
      await settleDays(ledger, chance, merchantUuid)
      const range = readTransactionsQuery(request.query as Record<string, unknown>)
      return { status: 200, data: await listSettlements(ledger, merchantUuid, range) }
    }),
  )

  app.get(
    '/v1/settlements/:id/lines',
    HIDDEN,
    answering(async ({ merchantUuid, request }) => {
      const id = readSettlementId((request.params as { id: string }).id)
      const range = readLedgerQuery(request.query as Record<string, unknown>)
      return { status: 200, data: await listLines(ledger, merchantUuid, id, range) }
    }),
  )

  app.post(
    '/v1/refunds',
    HIDDEN,
    answering(async ({ merchantUuid, chance, request }) => {
      const data = await refundPayment(ledger, chance, merchantUuid, readRefundRequest(request.body))
      return { status: 200, data }
    }),
  )

  function answering(work: Work) {
    return async (request: FastifyRequest, reply: FastifyReply) => {
      const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
      const merchantUuid = key && merchantOfKey(masterKey, key)
      if (!merchantUuid) throw new Refusal(401, 'unauthorized', 'This secret key is not known.')
      const chance = await dice(merchantUuid)
      const fault = callFault(chance)
      if (fault?.when === 'before') return misbehave(fault, request, reply)
      const working = work({ merchantUuid, chance, request })
      if (fault) {
        await working.catch(() => {}) // a refusal, too, is something that the caller does not hear
        return misbehave(fault, request, reply)
      }
      const answer = await working
      if (answer === 'silence') return held.hold(request, reply)
      return reply.code(answer.status).send({ data: answer.data })
    }
  }

  function misbehave(fault: CallFault, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (fault.kind === 'timeout') return held.hold(request, reply)
    throw new Refusal(fault.status, 'server_error', 'Something went wrong. Please try again.')
  }
}
