import type { CommandDeps } from '../../compose.ts'
import { readConfig } from '../../config/config.ts'
import type { Database } from '../../database/database.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { removeMember, setOperator } from '../../members/manage-members.ts'
import { hasSecondFactor, type Member, parseEmail } from '../../members/member.ts'
import { findMemberByEmail, listMembers } from '../../members/member-store.ts'
import { createInvitation } from '../../members/one-time-links.ts'
import { ROLES, type Role } from '../../members/permissions.ts'
import { type Command, type Options, UsageError } from '../command.ts'
import { print, table } from '../print.ts'
import { findServiceUrls } from '../running-service.ts'
import { actor, withDatabase } from '../with-database.ts'
import { merchantOption } from './merchant.ts'

const EMAIL = { value: 'EMAIL', summary: 'The e-mail address of the member', required: true }
const MERCHANT = { value: 'mer_…', summary: 'The merchant', required: true }

export const memberList: Command = {
  name: 'member list',
  summary: 'List the members of the dashboard',
  options: { merchant: { value: 'mer_…', summary: 'Only the members of this merchant' } },
  async run(options) {
    const merchantId = options.text('merchant') === undefined ? undefined : merchantOption(options)
    const members = await withDatabase(({ database }) => listMembers(database, merchantId))
    const rows = members.map(({ id, email, name, merchantId, role, operator, factors, lastSeenAt }) => ({
      ...{ id, email, name, merchant: merchantId, role },
      operator: operator ? 'yes' : 'no',
      'second factor': hasSecondFactor(factors) ? 'yes' : 'no',
      'last seen': lastSeenAt?.toISOString() ?? '',
    }))
    print(
      options.json,
      members,
      rows.length > 0 ? table(rows) : 'There are no members yet. See: manilla dashboard link',
    )
  },
}

export const memberInvite: Command = {
  name: 'member invite',
  summary: 'Print a one-time link that adds a person to the dashboard of a merchant',
  options: {
    merchant: MERCHANT,
    email: EMAIL,
    role: { value: 'ROLE', summary: `One of ${ROLES.join(', ')}`, required: true },
  },
  async run(options) {
    const merchantId = merchantOption(options)
    const email = emailOption(options)
    const role = options.required('role') as Role
    if (!ROLES.includes(role)) throw new UsageError(`--role must be one of ${ROLES.join(', ')}.`)
    const { baseUrl } = await findServiceUrls(readConfig(process.env))
    const { url, expiresAt } = await withDatabase((deps) =>
      createInvitation(linkDeps(deps, baseUrl), actor(), { merchantId, email, role }),
    )
    print(options.json, { url, expiresAt }, `${url}\n\nIt works once, until ${expiresAt.toISOString()}.`)
  },
}

export const memberRemove: Command = {
  name: 'member remove',
  summary: 'Remove a member from a merchant and end their sessions',
  options: { merchant: MERCHANT, email: EMAIL },
  async run(options) {
    const merchantId = merchantOption(options)
    const email = emailOption(options)
    await withDatabase(async ({ database }) => {
      const { id } = await findByEmail(database, email)
      await removeMember({ database }, actor(), { merchantId, memberId: id })
    })
    print(options.json, { email, merchantId }, `${email} is no longer a member of ${merchantId}.`)
  },
}

export const memberOperator: Command = {
  name: 'member operator',
  summary: 'Make a member an operator of this installation, or take that away',
  options: {
    email: EMAIL,
    off: { summary: 'Take it away' },
    force: { summary: 'Take it away from the last operator, too' },
  },
  async run(options) {
    const email = emailOption(options)
    const operator = !options.on('off')
    await withDatabase(async ({ database }) => {
      const { id } = await findByEmail(database, email)
      await setOperator({ database }, actor(), id, { operator, force: options.on('force') })
    })
    print(options.json, { email, operator }, `${email} is ${operator ? 'now' : 'no longer'} an operator.`)
  },
}

function emailOption(options: Options): string {
  const email = parseEmail(options.required('email'))
  if (!email) throw new UsageError('--email must be an e-mail address, like ada@example.com.')
  return email
}

export async function findByEmail(database: Database, text: string): Promise<Member> {
  const found = await findMemberByEmail(database, parseEmail(text) ?? '')
  if (!found) throw new OperatorError(`There is no member ${text}. See: manilla member list`)
  return found.member
}

/** The command line prints links and sends no mail. */
export function linkDeps({ database, clock }: CommandDeps, baseUrl: string) {
  return { database, clock, baseUrl: () => baseUrl }
}
