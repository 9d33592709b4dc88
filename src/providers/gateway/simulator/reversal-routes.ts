import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Dice } from './dice.ts'
import { changeDispute, closeDispute, openDispute, refundByHand } from './disputes.ts'
import { readDisputeChange, readDisputeId, readHandRefund, readNewDispute, readOutcome } from './input.ts'
import type { LedgerDeps } from './ledger.ts'
import { settleNow } from './settlements.ts'

interface Deps {
  ledger: LedgerDeps
  dice: Dice
  /** The merchant behind a sandbox credential. */
  merchantOf: (request: FastifyRequest) => Promise<string>
}

const HIDDEN = { schema: { hide: true } }

/** With these a merchant's tests play the provider's dashboard and the customer's bank. */
export function reversalRoutes(app: FastifyInstance, { ledger, dice, merchantOf }: Deps): void {
  app.post('/refunds', HIDDEN, async (request, reply) => {
    const merchantUuid = await merchantOf(request)
    const wanted = readHandRefund(request.body)
    return reply.code(201).send({ data: await refundByHand(ledger, await dice(merchantUuid), merchantUuid, wanted) })
  })

  app.post('/settlements', HIDDEN, async (request, reply) => {
    const merchantUuid = await merchantOf(request)
    return reply.code(201).send({ data: await settleNow(ledger, await dice(merchantUuid), merchantUuid) })
  })

  app.post('/disputes', HIDDEN, async (request, reply) => {
    const merchantUuid = await merchantOf(request)
    const wanted = readNewDispute(request.body)
    return reply.code(201).send({ data: await openDispute(ledger, await dice(merchantUuid), merchantUuid, wanted) })
  })

  app.post<{ Params: { id: string } }>('/disputes/:id', HIDDEN, async (request) => {
    const merchantUuid = await merchantOf(request)
    const changes = readDisputeChange(request.body)
    const id = readDisputeId(request.params.id)
    return { data: await changeDispute(ledger, await dice(merchantUuid), merchantUuid, id, changes) }
  })

  app.post<{ Params: { id: string } }>('/disputes/:id/close', HIDDEN, async (request) => {
    const merchantUuid = await merchantOf(request)
    const outcome = readOutcome(request.body)
    const id = readDisputeId(request.params.id)
    return { data: await closeDispute(ledger, await dice(merchantUuid), merchantUuid, id, outcome) }
  })
}
