import type { AttemptId, PaymentId } from '../kernel/ids.ts'
import type { Owner } from '../kernel/scope.ts'

/**
 * Public URLs of this service. The base URL is a function, because with PORT=0 the port is known only after listening.
 */
export interface Links {
  payment(id: PaymentId): string
  short(code: string): string
  /** The page of a reusable link. */
  reusable(code: string): string
  /** The page of a customer's receipt. */
  receipt(code: string): string
  /** A screen of the dashboard, such as `/payments`. */
  dashboard(owner: Owner, screen: string): string
  /** Return URL for the provider's page. The customer comes back here first, so that the outcome is checked at once. */
  comeBack(attempt: AttemptId): string
  /** Notice (webhook) URL that the merchant enters in the provider's dashboard. */
  notices(scope: Owner, provider: string): string
}

export function linksOn(baseUrl: () => string): Links {
  return {
    payment: (id) => `${baseUrl()}/pay/${id}`,
    short: (code) => `${baseUrl()}/s/${code}`,
    reusable: (code) => `${baseUrl()}/l/${code}`,
    receipt: (code) => `${baseUrl()}/r/${code}`,
    dashboard: ({ merchantId, mode }, screen) => `${baseUrl()}/dashboard/${merchantId}/${mode}${screen}`,
    comeBack: (attempt) => `${baseUrl()}/return/${attempt}`,
    notices: ({ merchantId, mode }, provider) => `${baseUrl()}/notices/${provider}/${mode}/${merchantId}`,
  }
}
