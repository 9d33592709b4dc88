import type { Transaction } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import { type MemberId, type MerchantId, newId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { digestOf } from '../merchants/credential.ts'
import { findMerchant } from '../merchants/merchant-store.ts'
import type { MemberDeps } from './deps.ts'
import { endInvitationsOf, endResetsOf, insertLink, listInvitations, type NewLink } from './link-store.ts'
import { type Mail, nameInMail } from './mail.ts'
import { recordAccountAct } from './member-acts-store.ts'
import { findMemberByEmail, findOwner, hasOperator, isEmailVerified, listMembers, lockRole } from './member-store.ts'
import { isAllowed, type Role } from './permissions.ts'
import { newToken } from './token.ts'
import { countTry } from './tries-store.ts'

type Deps = Pick<MemberDeps, 'database' | 'clock' | 'baseUrl'>
/** Without mail and `later` the link is only returned. */
type MailDeps = Deps & Partial<Pick<MemberDeps, 'sendMail' | 'later'>>

/** A link that works once. It is shown to its creator and cannot be shown again. */
export interface CreatedLink {
  id: string
  url: string
  expiresAt: Date
}

const WELCOME_MINUTES = 15
const INVITATION_MINUTES = 24 * 60
/**
 * E-mails before each further one has to wait: to a member with a forgotten password, and invitations of a merchant.
 */
const FREE_RESETS = 3
const FREE_INVITATIONS = 50
/**
 * Members of a merchant and its open invitations together. Calls at the same time can pass it: it is there against
 * scripts.
 */
const MAX_MEMBERS = 500

/**
 * The link of the first run: makes the owner of a merchant that has none. Undefined when the merchant has an owner. The
 * first account of an installation also becomes its operator.
 */
export function createWelcomeLink(deps: Deps, actor: string, merchantId: MerchantId): Promise<CreatedLink | undefined> {
  return deps.database.transaction(async (tx) => {
    if (await findOwner(tx, merchantId)) return undefined
    const grantsOperator = !(await hasOperator(tx))
    const link = { kind: 'welcome' as const, merchantId, role: 'owner' as const, email: null, grantsOperator }
    return (await create(deps, tx, { ...link, createdBy: actor, minutes: WELCOME_MINUTES })).link
  })
}

/** Invites an e-mail address. The newest invitation of an address replaces the older ones. */
export async function createInvitation(
  deps: MailDeps,
  actor: string,
  { merchantId, email, role, by }: { merchantId: MerchantId; email: string; role: Role; by?: MemberId },
): Promise<CreatedLink & { sent: boolean }> {
  if (deps.sendMail) await limitMail(deps, merchantId)
  const { link, mailedURL, merchantName } = await deps.database.transaction(async (tx) => {
    if (by) await lockCreator(tx, by, merchantId)
    const merchant = await findMerchant(tx, merchantId)
    if (!merchant) throw new Problem('not_found', `There is no merchant ${merchantId}.`)
    if (role === 'owner' && (await findOwner(tx, merchantId)))
      throw new Problem('conflict', 'This merchant has an owner. The owner can transfer the ownership.')
    const known = await findMemberByEmail(tx, email)
    if (known && (await lockRole(tx, known.member.id, merchantId)))
      throw new Problem('conflict', 'This person is a member already. Change the role instead.')
    await endInvitationsOf(tx, merchantId, email)
    const [members, invitations] = [await listMembers(tx, merchantId), await listInvitations(tx, merchantId)]
    if (members.length + invitations.length >= MAX_MEMBERS)
      throw new Problem('conflict', `This merchant has ${MAX_MEMBERS} members and invitations. Remove one first.`)
    const invitation = { kind: 'invitation' as const, merchantId, role, email }
    const created = await create(deps, tx, { ...invitation, createdBy: actor, minutes: INVITATION_MINUTES })
    await recordAct(tx, { actor, act: 'member.invited', merchantId, subject: `${email} ${role}` })
    return { ...created, merchantName: merchant.name }
  })
  const name = nameInMail(merchantName)
  const text = `You are invited to the dashboard of the merchant "${name}" on Manilla, as ${role}.\n\nOpen this link within 24 hours. It works once:\n\n${mailedURL}\n`
  return { ...link, sent: mail(deps, { to: email, subject: `Invitation to ${name}`, text }) }
}

/** Links end with the role of their creator, so the creator must keep it until the link is written. */
export async function lockCreator(tx: Transaction, by: MemberId, merchantId: MerchantId): Promise<void> {
  const role = await lockRole(tx, by, merchantId)
  if (!role || !isAllowed(role, 'members')) throw new Problem('forbidden', 'Your role has changed meanwhile.')
}

const CLEARS =
  'It also removes the passkeys, the authenticator app and the recovery codes of the account. Add yours again afterwards.'

interface ResetOptions {
  clearsSecondFactor: boolean
  address: string
  /** Throws when the link must not be created. Runs in its transaction. */
  check?: (tx: Transaction) => Promise<void>
}

/** Gives a member a new password. With `clearsSecondFactor` their passkeys, app and codes are removed, too. */
export async function createResetLink(
  deps: MailDeps,
  actor: string,
  member: { id: MemberId; email: string },
  { clearsSecondFactor, address, check }: ResetOptions,
): Promise<CreatedLink & { sent: boolean }> {
  const { link, mailedURL, isVerified } = await deps.database.transaction(async (tx) => {
    await check?.(tx)
    // A stranger who asks for a link must not end one that an admin or operator has made.
    await endResetsOf(tx, member.id, actor.startsWith('visitor ') ? 'visitor %' : '%')
    const reset = { kind: 'reset' as const, memberId: member.id, clearsSecondFactor }
    const created = await create(deps, tx, { ...reset, createdBy: actor, minutes: INVITATION_MINUTES })
    const subject = `${member.id}${clearsSecondFactor ? ' with second factors' : ''}`
    await recordAccountAct(tx, member.id, address, { act: 'member.reset_link_created', subject, actor })
    return { ...created, isVerified: await isEmailVerified(tx, member.id) }
  })
  const clears = clearsSecondFactor || !isVerified ? `${CLEARS}\n\n` : ''
  const text = `Choose a new password for the Manilla dashboard. Open this link within 24 hours. It works once:\n\n${mailedURL}\n\n${clears}If you did not expect it, do nothing: your password has not changed.\n`
  return { ...link, sent: mail(deps, { to: member.email, subject: 'New password for the Manilla dashboard', text }) }
}

/** "Forgot password": sends a link if the account exists. The caller learns nothing about that. */
export function requestReset(deps: MemberDeps, email: string, address: string): void {
  deps.later(async () => {
    const known = deps.sendMail && (await findMemberByEmail(deps.database, email))
    if (!known || (await countTry(deps.database, [{ name: `reset of ${email}`, free: FREE_RESETS }]))) return
    const options = { clearsSecondFactor: false, address }
    await createResetLink(deps, `visitor from ${address}`, known.member, options)
  })
}

/** The mailed token is another one than that of the creator: it proves that its reader has the mailbox. */
async function create(
  { clock, baseUrl }: Deps,
  tx: Transaction,
  link: DistributiveOmit<NewLink, 'id' | 'digest' | 'mailedDigest'>,
): Promise<{ link: CreatedLink; mailedURL: string }> {
  const [token, mailedToken] = [newToken(), newToken()]
  const id = newId('oneTimeLink', clock.now())
  const digests = { digest: digestOf(token), mailedDigest: digestOf(mailedToken) }
  const expiresAt = await insertLink(tx, { ...link, id, ...digests } as NewLink)
  // In the fragment, which browsers do not send: the token is in no log of a server or proxy.
  const urlOf = (token: string) => `${baseUrl()}/dashboard/welcome#${token}`
  return { link: { id, url: urlOf(token), expiresAt }, mailedURL: urlOf(mailedToken) }
}

type DistributiveOmit<Type, Key extends PropertyKey> = Type extends unknown ? Omit<Type, Key> : never

/** An admin must not send mail to strangers without end. */
async function limitMail({ database }: Deps, merchantId: MerchantId): Promise<void> {
  const counter = { name: `invitations of ${merchantId}`, free: FREE_INVITATIONS }
  const seconds = await countTry(database, [counter])
  if (seconds === undefined) return
  const detail = `This merchant sent many invitations. Try again in ${seconds} s.`
  throw new Problem('rate_limited', detail, { retryAfterSeconds: seconds })
}

function mail({ sendMail, later }: MailDeps, message: Mail): boolean {
  if (!sendMail || !later) return false
  later(() => sendMail(message))
  return true
}
