import { Type } from 'typebox'
import type { Database } from '../../database/database.ts'
import { parseId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { deleteSavedCard } from '../../payments/start/manage-saved-cards.ts'
import { type CardOnFile, type Customer, listCards } from '../../payments/store/saved-cards.ts'
import { CardAnswer, CardsAnswer } from '../contract/attempt.ts'
import { problems } from '../contract/problem.ts'
import type { App } from '../server/framework.ts'

/** Saved cards. Their tokens never leave the database. */
export function cardRoutes(app: App, { database }: { database: Database }): void {
  app.get(
    '/cards',
    {
      schema: {
        operationId: 'listCards',
        summary: 'List saved cards',
        tags: ['Cards'],
        description: 'Send exactly one of `userId` and `email`.',
        querystring: Type.Object({
          userId: Type.Optional(Type.String({ format: 'user-id', description: 'Cards saved with this `user.id`.' })),
          email: Type.Optional(
            Type.String({
              format: 'e-mail',
              maxLength: 254,
              description: 'Cards saved without a `user.id` under this e-mail address (case-insensitive).',
            }),
          ),
        }),
        response: { 200: CardsAnswer, ...problems('invalid_request') },
      },
    },
    async (request) => ({
      data: (await listCards(database, request.caller, customerIn(request.query))).map(cardView),
      nextCursor: null,
    }),
  )

  app.delete(
    '/cards/:id',
    {
      schema: {
        operationId: 'deleteCard',
        summary: 'Delete a saved card',
        tags: ['Cards'],
        params: Type.Object({ id: Type.String() }),
        response: { 200: CardAnswer, ...problems('not_found') },
      },
    },
    async (request) => {
      const id = parseId('card', request.params.id)
      const card = id && (await deleteSavedCard(database, request.caller, id))
      if (!card) throw new Problem('not_found', 'You have no saved card with this id in this mode.')
      return { data: cardView(card) }
    },
  )
}

function customerIn({ userId, email }: { userId?: string; email?: string }): Customer {
  if (userId !== undefined && email === undefined) return { id: userId, email: '' }
  if (email !== undefined && userId === undefined) return { id: null, email }
  throw new Problem('invalid_request', 'Send either userId or email, not both.')
}

function cardView({ createdAt, ...card }: CardOnFile) {
  return { ...card, createdAt: createdAt.toISOString() }
}
