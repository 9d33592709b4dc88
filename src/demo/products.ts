import { type Html, html } from '../kernel/html.ts'
import { type Money, money } from '../kernel/money.ts'
import { CITIES, type City } from './cities.ts'

export interface Product {
  id: string
  name: string
  about: string
  picture: Html
  /** In whole units of the currency of each city. */
  prices: Record<City, number>
}

export function priceIn(city: City, { prices }: Product): Money {
  return money(prices[city] * 100, CITIES[city].currency)
}

/** Prices are defined on the server only; the browser sends the product's id. */
export const PRODUCTS: Product[] = [
  {
    id: 'jollof',
    name: 'Party jollof',
    about: 'Smoky, with fried plantain. A tray for four.',
    prices: { lagos: 9_500, accra: 95, nairobi: 900 },
    picture: html`<svg viewBox="0 0 160 112" aria-hidden="true"><rect x="-200" y="-200" width="560" height="512" fill="#f8dcb4"/>
<g fill="none" stroke="#c98f55" stroke-width="3" stroke-linecap="round"><path d="M62 24c-5-6 5-9 0-16M80 22c-5-6 5-9 0-16M98 24c-5-6 5-9 0-16"/></g>
<path d="M38 62c4-22 20-32 42-32s38 10 42 32z" fill="#d9481f"/>
<g stroke="#f39a4a" stroke-width="3" stroke-linecap="round"><path d="m52 54 5-3M64 43l5 2M77 37l5-2M92 42l4 3M104 51l4 3M70 54l5-2M86 52l5 3M60 58l4 1M98 58l4-2"/></g>
<g fill="#f5b93c" stroke="#8a4a12" stroke-width="2"><ellipse cx="108" cy="47" rx="11" ry="6" transform="rotate(24 108 47)"/><ellipse cx="97" cy="39" rx="11" ry="6" transform="rotate(14 97 39)"/></g>
<path d="M55 41c3-7 10-8 13-5-2 6-8 8-13 5z" fill="#3f8f4f"/>
<path d="M28 60h104c0 22-16 38-36 38H64c-20 0-36-16-36-38z" fill="#27315f"/><path d="M28 60h104l-1 8H29z" fill="#3b4789"/>
<g fill="#f8dcb4"><circle cx="56" cy="80" r="3"/><circle cx="72" cy="84" r="3"/><circle cx="88" cy="84" r="3"/><circle cx="104" cy="80" r="3"/></g></svg>`,
  },
  {
    id: 'adire',
    name: 'Adire tote bag',
    about: 'Hand-dyed indigo from Abeokuta.',
    prices: { lagos: 12_500, accra: 120, nairobi: 1_200 },
    picture: html`<svg viewBox="0 0 160 112" aria-hidden="true"><rect x="-200" y="-200" width="560" height="512" fill="#d5ddf6"/>
<path d="M60 46V32c0-26 40-26 40 0v14" fill="none" stroke="#8a5a33" stroke-width="5" stroke-linecap="round"/>
<path d="M44 40h72l7 60a6 6 0 0 1-6 6H43a6 6 0 0 1-6-6z" fill="#26307c"/><path d="M44 40h72l1 9H43z" fill="#1a2260"/>
<g fill="none" stroke="#a9b8f4" stroke-width="2.5"><circle cx="80" cy="77" r="5"/><circle cx="80" cy="77" r="11"/><circle cx="80" cy="77" r="17" stroke-dasharray="3 4"/>
<path d="M47 59c5-4 9 4 14 0M99 59c5-4 9 4 14 0M44 92c5-4 9 4 14 0M102 92c5-4 9 4 14 0" stroke-linecap="round"/></g>
<g fill="#a9b8f4"><circle cx="52" cy="76" r="2.5"/><circle cx="108" cy="76" r="2.5"/><circle cx="72" cy="56" r="2"/><circle cx="88" cy="56" r="2"/><circle cx="66" cy="99" r="2"/><circle cx="94" cy="99" r="2"/></g></svg>`,
  },
  {
    id: 'drum',
    name: 'Talking drum',
    about: 'A gángan from Oyo, with its curved stick.',
    prices: { lagos: 38_000, accra: 380, nairobi: 3_600 },
    picture: html`<svg viewBox="0 0 160 112" aria-hidden="true"><rect x="-200" y="-200" width="560" height="512" fill="#cfe6d6"/>
<path d="M46 22h68c-4 16-22 20-22 34s18 18 22 34H46c4-16 22-20 22-34S50 38 46 22z" fill="#9a4f24"/>
<g fill="none" stroke="#f3dcb8" stroke-width="2"><path d="M50 24c4 14 22 20 22 32s-18 18-22 32M61 26c2 12 14 18 14 30s-12 18-14 30M80 28v56M99 26c-2 12-14 18-14 30s12 18 14 30M110 24c-4 14-22 20-22 32s18 18 22 32"/></g>
<path d="M66 50h28v12H66z" fill="#d9481f"/><path d="m66 62 7-12 7 12 7-12 7 12" fill="none" stroke="#f5b93c" stroke-width="2.5" stroke-linejoin="round"/>
<ellipse cx="80" cy="90" rx="35" ry="9" fill="#7a3a17"/><ellipse cx="80" cy="22" rx="35" ry="9" fill="#f3dcb8" stroke="#7a3a17" stroke-width="3"/>
<path d="M140 92 122 34c-3-9-13-9-15-1" fill="none" stroke="#5b2d12" stroke-width="5" stroke-linecap="round"/></svg>`,
  },
]

export const productOf = (id: string | null | undefined) => PRODUCTS.find((product) => product.id === id)
