import { recordAct } from '../../events/audit-log-store.ts'
import { type LinkId, newId, newShortCode, parseId } from '../../kernel/ids.ts'
import { Problem, refuse } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import { type LinkTerms, linkMistakes, MAX_LINKS, type PaymentLink } from '../state/payment-link.ts'
import { startedIdSaved } from '../store/idempotent-calls.ts'
import { countLinks, findLink, insertLink, lockLink, setLinkExpiry, updateLink } from '../store/payment-links.ts'
import { assertPayable, type CreateDeps } from './create-payment.ts'
import type { CallContext } from './idempotent-call.ts'

type Deps = Omit<CreateDeps, 'paymentBatch'>

/**
 * The limit can be passed by calls that run at the same time: it is there against scripts. With `startedId`, an earlier
 * run of the same call has made the link.
 */
export async function createLink(
  deps: Deps,
  caller: Caller,
  terms: LinkTerms,
  expiresInSeconds: number | null,
  { startedId, startedBy }: Pick<CallContext, 'startedId' | 'startedBy'>,
): Promise<PaymentLink> {
  const started = startedId === null ? undefined : parseId('link', startedId)
  if (started) return own(await findLink(deps.database, caller, started))
  const mistakes = linkMistakes(terms)
  if (mistakes.length > 0) refuse(mistakes)
  await assertPayable(deps, caller, terms)
  return deps.database.transaction(async (tx) => {
    if ((await countLinks(tx, caller, MAX_LINKS)) >= MAX_LINKS)
      throw new Problem('too_many_links', `You have ${MAX_LINKS} links in this mode, the most that are possible.`)
    const now = deps.clock.now()
    const id = newId('link', now, caller.place)
    const times = { createdAt: now, expiresAt: endOf(now, expiresInSeconds) }
    await insertLink(tx, caller, { ...terms, ...times, id, code: newShortCode(now, caller.place) })
    if (startedBy) tx.write(startedIdSaved(startedBy, id))
    await recordAct(tx, { actor: caller.actor, act: 'link.created', merchantId: caller.merchantId, subject: id })
    return own(await findLink(tx, caller, id))
  })
}

const endOf = (now: Date, expiresInSeconds: number | null) =>
  expiresInSeconds === null ? null : new Date(now.getTime() + expiresInSeconds * 1_000)

export type LinkChanges = Partial<Omit<LinkTerms, 'currency' | 'country'>>

/** `expiresInSeconds`: from now; null removes the expiry, undefined leaves it. */
export function changeLink(
  { database, clock }: Deps,
  caller: Caller,
  id: LinkId,
  { expiresInSeconds, ...changes }: LinkChanges & { expiresInSeconds?: number | null },
): Promise<PaymentLink> {
  return database.transaction(async (tx) => {
    const link = { ...own(await lockLink(tx, caller, id)), ...changes }
    const mistakes = linkMistakes(link)
    if (mistakes.length > 0) refuse(mistakes)
    await updateLink(tx, link)
    if (expiresInSeconds !== undefined) await setLinkExpiry(tx, id, endOf(clock.now(), expiresInSeconds))
    await recordAct(tx, { actor: caller.actor, act: 'link.changed', merchantId: caller.merchantId, subject: id })
    return own(await findLink(tx, caller, id))
  })
}

/** Another merchant's link is answered like one that does not exist. */
export function own(link: PaymentLink | undefined): PaymentLink {
  if (!link) throw new Problem('not_found', 'You have no link with this id in this mode.')
  return link
}
