import { type Static, Type } from 'typebox'

/** Saved views of the list of payments. */

/** As the address of the screen has them. There is no `q`: a search text may be a customer's address. */
export const VIEW_FILTERS = [
  ...['status', 'provider', 'channel', 'currency', 'amountFrom', 'amountTo', 'from', 'to', 'late', 'needsReview'],
] as const

const Name = Type.String({ format: 'plain-text', pattern: '\\S', maxLength: 60 })
const Filters = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(
    VIEW_FILTERS.map((name) => [name, { type: 'string', format: 'plain-text', minLength: 1, maxLength: 50 }]),
  ),
})

export const NewView = Type.Object({ name: Name, filters: Filters })
export const ChangedView = Type.Object({ name: Type.Optional(Name), filters: Type.Optional(Filters) })
export type ChangedView = Static<typeof ChangedView>

const View = Type.Object({ id: Type.String(), name: Type.String(), filters: Filters })
export const ViewAnswer = Type.Object({ data: View })
export const ViewsAnswer = Type.Object({ data: Type.Array(View) })
