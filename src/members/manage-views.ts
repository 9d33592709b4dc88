import type { Database, Transaction } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import type { Clock } from '../kernel/clock.ts'
import { type MemberId, type MerchantId, newId, type SavedViewId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { lockRole } from './member-store.ts'
import { deleteView, insertView, listViews, type SavedView, updateView } from './saved-view-store.ts'

export const MAX_VIEWS = 50

interface Deps {
  database: Database
  clock: Clock
}

/** The member who keeps the views, with the actor for the audit log. */
export interface ViewOwner {
  memberId: MemberId
  merchantId: MerchantId
  actor: string
}

export function saveView(
  { database, clock }: Deps,
  owner: ViewOwner,
  wanted: Pick<SavedView, 'name' | 'filters'>,
): Promise<SavedView> {
  return database.transaction(async (tx) => {
    const views = await lockViews(tx, owner)
    if (views.length >= MAX_VIEWS)
      throw new Problem('conflict', `You have ${MAX_VIEWS} views, which is the most. Delete one first.`)
    refuseSameName(views, wanted.name)
    const view = { ...wanted, id: newId('savedView', clock.now()) }
    await insertView(tx, owner, view)
    await record(tx, owner, 'view.saved', view.id)
    return view
  })
}

export function changeView(
  { database }: Deps,
  owner: ViewOwner,
  id: string,
  changes: Partial<Pick<SavedView, 'name' | 'filters'>>,
): Promise<SavedView> {
  return database.transaction(async (tx) => {
    const views = await lockViews(tx, owner)
    const view = { ...own(views, id), ...changes }
    refuseSameName(
      views.filter((each) => each.id !== id),
      view.name,
    )
    await updateView(tx, view)
    await record(tx, owner, 'view.changed', view.id)
    return view
  })
}

export function removeView({ database }: Deps, owner: ViewOwner, id: string): Promise<void> {
  return database.transaction(async (tx) => {
    const view = own(await lockViews(tx, owner), id)
    await deleteView(tx, view.id)
    await record(tx, owner, 'view.deleted', view.id)
  })
}

/** The views of the member, who makes one change at a time: the limit and the names hold for concurrent requests. */
async function lockViews(tx: Transaction, owner: ViewOwner): Promise<SavedView[]> {
  await lockRole(tx, owner.memberId, owner.merchantId)
  return listViews(tx, owner)
}

function own(views: SavedView[], id: string): SavedView {
  const view = views.find((each) => each.id === id)
  if (!view) throw new Problem('not_found', 'You have no such view.')
  return view
}

function refuseSameName(views: SavedView[], name: string): void {
  if (views.some((each) => each.name.toLowerCase() === name.toLowerCase()))
    throw new Problem('conflict', 'You have another view with this name.')
}

function record(tx: Transaction, { actor, merchantId }: ViewOwner, act: string, id: SavedViewId): Promise<void> {
  return recordAct(tx, { actor, act, merchantId, subject: id })
}
