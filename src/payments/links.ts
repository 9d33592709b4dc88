import type { AttemptId, PaymentId } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'

/** Addresses that we hand out. The base is asked for each time, for with PORT=0 it is only known once we listen. */
export interface Links {
  payment(id: PaymentId): string
  short(code: string): string
  /** Where a provider's page sends the customer back to: always to us first, so that we can ask how it went. */
  comeBack(attempt: AttemptId): string
  /** Where a provider tells us what happened: for the merchant to paste into the provider's dashboard. */
  notices(scope: Scope, provider: string): string
}

export function linksOn(baseUrl: () => string): Links {
  return {
    payment: (id) => `${baseUrl()}/pay/${id}`,
    short: (code) => `${baseUrl()}/s/${code}`,
    comeBack: (attempt) => `${baseUrl()}/return/${attempt}`,
    notices: ({ merchantId, mode }, provider) => `${baseUrl()}/notices/${provider}/${mode}/${merchantId}`,
  }
}
