import type { Browser } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { openMerchantSite } from './customer.ts'
import { AS_IN_PRODUCTION, type PayingService, type Shop, startPaying } from './paying.ts'

export interface OpenShop {
  service: PayingService
  shop: Shop
  /** The shop's pages, on another origin than ours. */
  site: string
  /** The URL to which customers return. */
  redirectURL: string
  browser: Browser
}

/** The service, a shop that uses it, and a browser for its customers. */
export async function openShop(): Promise<OpenShop> {
  const service = await startPaying({ providerHttp: AS_IN_PRODUCTION })
  const shop = await service.addShop()
  const site = await openMerchantSite()
  return { service, shop, site, redirectURL: `${site}/thanks`, browser: await openBrowser() }
}
