/** How a payment page looks. No imports: the pages of the dashboard use it, too. */
export interface Brand {
  /** `#rrggbb` in lower case; null: the default colour. */
  colour: string | null
  corners: Corners
  /** Null: the customer's language. */
  language: Language | null
  logo: { version: string } | null
  /** Seconds until a paid page returns to the shop; null: only when the customer clicks. */
  returnAfterSeconds: number | null
}

export const CORNERS = ['square', 'rounded', 'pill'] as const
export type Corners = (typeof CORNERS)[number]

export const LANGUAGES = ['en', 'fr', 'ar', 'sw'] as const
export type Language = (typeof LANGUAGES)[number]

/**
 * `open`: a payment's reference opens the widget. `strict`: it also needs a token that the merchant's server requested.
 */
export const WIDGET_ACCESS = ['open', 'strict'] as const
export type WidgetAccess = (typeof WIDGET_ACCESS)[number]
