import { readConfig } from '../../config/config.ts'
import { SANDBOX_MERCHANT_ID } from '../../integrations/create-merchant.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { createResetLink, createWelcomeLink } from '../../members/one-time-links.ts'
import type { Command } from '../command.ts'
import { print } from '../print.ts'
import { findServiceUrls } from '../running-service.ts'
import { actor, withDatabase } from '../with-database.ts'
import { findByEmail, linkDeps } from './member.ts'

export const dashboardLink: Command = {
  name: 'dashboard link',
  summary: 'Print a one-time link to the dashboard, for the first account or a member who cannot sign in',
  options: {
    member: { value: 'EMAIL', summary: 'The member who gets a new password' },
    'clear-second-factor': { summary: "Also remove the member's passkeys, authenticator app and recovery codes" },
  },
  async run(options) {
    const email = options.text('member')
    const { baseUrl } = await findServiceUrls(readConfig(process.env))
    const link = await withDatabase(async (deps) => {
      const forLinks = linkDeps(deps, baseUrl)
      if (email === undefined) return createWelcomeLink(forLinks, actor(), SANDBOX_MERCHANT_ID)
      const member = await findByEmail(deps.database, email)
      const clearsSecondFactor = options.on('clear-second-factor')
      return createResetLink(forLinks, actor(), member, { clearsSecondFactor, address: '' })
    })
    if (!link)
      throw new OperatorError(
        'The dashboard has an account. Give --member EMAIL for a member who cannot sign in, or see: manilla member invite --help',
      )
    const { url, expiresAt } = link
    print(options.json, { url, expiresAt }, `${url}\n\nIt works once, until ${expiresAt.toISOString()}.`)
  },
}
