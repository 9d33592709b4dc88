import type { Database } from '../database/database.ts'
import type { AlertKind } from '../events/alert-kind.ts'
import { recordAct } from '../events/audit-log-store.ts'
import type { MemberId } from '../kernel/ids.ts'
import type { Owner } from '../kernel/scope.ts'
import { isAllowed, type Role } from '../members/permissions.ts'
import { choiceOf } from './address-alerts.ts'
import { type AlertChoice, findChoice, saveChoice } from './alert-queue-store.ts'
import { ALERTS } from './alert-texts.ts'

export interface AlertMember {
  memberId: MemberId
  role: Role
}

/** What the role may be told of. */
export function kindsFor(role: Role): AlertKind[] {
  return (Object.keys(ALERTS) as AlertKind[]).filter((kind) => isAllowed(role, ALERTS[kind].permission))
}

/** The choice of a member, without the kinds that the role may not see. */
export async function readAlertChoice(
  { database }: { database: Database },
  { memberId, role }: AlertMember,
  owner: Owner,
): Promise<AlertChoice> {
  const choice = await findChoice(database, memberId, owner)
  const { kinds, daily } = choiceOf({ choice, role, mode: owner.mode })
  return { kinds: kindsFor(role).filter((kind) => kinds.includes(kind)), daily }
}

export async function chooseAlerts(
  { database }: { database: Database },
  actor: string,
  memberId: MemberId,
  { merchantId, mode }: Owner,
  choice: AlertChoice,
): Promise<void> {
  const kinds = [...new Set(choice.kinds)]
  const subject = `${mode} ${choice.daily ? 'daily' : 'at once'} ${kinds.join(' ') || 'none'}`
  await database.transaction(async (tx) => {
    await saveChoice(tx, memberId, { merchantId, mode }, { ...choice, kinds })
    await recordAct(tx, { actor, act: 'member.alerts_chosen', merchantId, subject })
  })
}
