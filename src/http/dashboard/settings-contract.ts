import { type Static, Type } from 'typebox'
import { CORNERS, LANGUAGES, type Language, WIDGET_ACCESS } from '../../merchants/brand.ts'
import { nullable } from '../contract/schema.ts'

/** Requests and answers for branding and settings. The web application imports their types. */

const oneOf = <Value extends string>(values: readonly Value[]) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values] })

const branding = {
  name: Type.String({ maxLength: 200 }),
  colour: nullable(Type.String({ maxLength: 7 })),
  corners: oneOf(CORNERS),
  // An enum has to name null, too.
  language: Type.Unsafe<Language | null>({ type: ['string', 'null'], enum: [...LANGUAGES, null] }),
  returnAfterSeconds: nullable(Type.Integer({ minimum: 0, maximum: 60 })),
  origins: Type.Array(Type.String({ maxLength: 300 }), { maxItems: 20 }),
  widget: oneOf(WIDGET_ACCESS),
}
export const BrandingAnswer = Type.Object({
  data: Type.Object({ ...branding, logoURL: nullable(Type.String()) }),
})
export type BrandingAnswer = Static<typeof BrandingAnswer>
/** Absent fields stay as they are. `logo`: base64 of a PNG, JPEG or WebP of at most 10 KiB; null removes it. */
export const BrandingChanges = Type.Partial(
  Type.Object({ ...branding, logo: nullable(Type.String({ maxLength: 14_000, pattern: '^[A-Za-z0-9+/]*={0,2}$' })) }),
)
export type BrandingChanges = Static<typeof BrandingChanges>

/** A draft of the branding, as a frame's address holds it. Absent fields are as they are saved. */
export const BrandingDraft = Type.Partial(
  Type.Object({
    name: branding.name,
    /** Empty: the default colour. */
    colour: Type.String({ pattern: '^(#[0-9a-f]{6})?$' }),
    corners: branding.corners,
    /** Empty: the language of the browser. */
    language: oneOf(['', ...LANGUAGES]),
    logo: Type.Literal('none'),
    theme: oneOf(['light', 'dark']),
    state: oneOf(['open', 'paid']),
  }),
)
export type BrandingDraft = Static<typeof BrandingDraft>

const Ratio = Type.Number({ description: 'WCAG contrast, 1 to 21' })
export const ContrastQuery = Type.Object({ colour: Type.Optional(Type.String({ pattern: '^(#[0-9a-f]{6})?$' })) })
export const ContrastAnswer = Type.Object({
  data: Type.Object({
    button: Type.Object({ colour: Type.String(), text: Type.String(), ratio: Ratio }),
    card: Type.Object({ ratio: Ratio, hasBorder: Type.Boolean() }),
    link: Type.Object({ colour: Type.String(), ratio: Ratio }),
    dark: Type.Object({ colour: Type.String(), ratio: Ratio }),
  }),
})
export type ContrastAnswer = Static<typeof ContrastAnswer>

export const SettingsAnswer = Type.Object({
  data: Type.Object({
    name: Type.String(),
    country: Type.String(),
    timeZone: nullable(Type.String()),
    refundLimit: Type.Integer(),
    requireSecondFactor: Type.Boolean(),
    /** What live mode needs, and how many there are of each. */
    live: Type.Object({ providers: Type.Integer(), apiKeys: Type.Integer() }),
  }),
})
export type SettingsAnswer = Static<typeof SettingsAnswer>
/** Absent fields stay as they are. */
export const SettingsChanges = Type.Partial(
  Type.Object({
    name: Type.String({ maxLength: 200 }),
    country: Type.String({ maxLength: 100 }),
    timeZone: nullable(Type.String({ maxLength: 64 })),
  }),
)
export type SettingsChanges = Static<typeof SettingsChanges>
