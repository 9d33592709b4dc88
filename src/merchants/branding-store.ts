import type { Queries, Transaction } from '../database/database.ts'
import { Fixed, sql } from '../database/sql.ts'
import { type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Brand, Corners, Language, WidgetAccess } from './brand.ts'
import type { Branding, BrandingSettings } from './branding.ts'
import type { Logo } from './logo.ts'

interface BrandingRow {
  name: string
  colour: string | null
  corners: Corners
  language: Language | null
  return_after_seconds: number | null
  origins: string[]
  widget: WidgetAccess
  logo_version: string | null
}

const BRANDING_COLUMNS =
  new Fixed(`m.name, m.colour, m.corners, m.language, m.return_after_seconds, m.origins, m.widget,
  (select l.version from merchant_logos l where l.merchant_id = m.id) as logo_version`)

function brandOf(row: BrandingRow): Brand {
  return {
    colour: row.colour,
    corners: row.corners,
    language: row.language,
    logo: row.logo_version === null ? null : { version: row.logo_version },
    returnAfterSeconds: row.return_after_seconds,
  }
}

export async function findBranding(db: Queries, merchantId: MerchantId, mode: Mode): Promise<Branding | undefined> {
  const row = await db.row<BrandingRow & { place: number; status: string }>(sql`
    select ${BRANDING_COLUMNS}, m.place, m.status from merchants m where m.id = ${uuidOf(merchantId)}`)
  return (
    row && {
      place: row.place,
      merchantId,
      mode,
      name: row.name,
      suspended: row.status === 'suspended',
      brand: brandOf(row),
      origins: row.origins,
      widget: row.widget,
    }
  )
}

/** Locks the row until the transaction ends. */
export async function lockBrandingSettings(tx: Transaction, id: MerchantId): Promise<BrandingSettings | undefined> {
  const row = await tx.row<BrandingRow>(
    sql`select ${BRANDING_COLUMNS} from merchants m where m.id = ${uuidOf(id)} for update of m`,
  )
  return row && { name: row.name, origins: row.origins, widget: row.widget, ...brandOf(row) }
}

/** Everything except the logo, which has its own table. */
export async function saveBrandingSettings(tx: Transaction, id: MerchantId, settings: BrandingSettings): Promise<void> {
  const { name, colour, corners, language, returnAfterSeconds, origins, widget } = settings
  await tx.rows(sql`
    update merchants
       set name = ${name}, colour = ${colour}, corners = ${corners}, language = ${language},
           return_after_seconds = ${returnAfterSeconds}, origins = ${origins}, widget = ${widget}
     where id = ${uuidOf(id)}`)
}

export async function findLogo(db: Queries, merchantId: MerchantId): Promise<Logo | undefined> {
  return db.row<Logo>(sql`select version, type, bytes from merchant_logos where merchant_id = ${uuidOf(merchantId)}`)
}

export async function saveLogo(tx: Transaction, merchantId: MerchantId, logo: Logo): Promise<void> {
  await tx.rows(sql`
    insert into merchant_logos (merchant_id, version, type, bytes)
    values (${uuidOf(merchantId)}, ${logo.version}, ${logo.type}, ${logo.bytes})
    on conflict (merchant_id) do update set version = excluded.version, type = excluded.type, bytes = excluded.bytes`)
}

export async function deleteLogo(tx: Transaction, merchantId: MerchantId): Promise<void> {
  await tx.rows(sql`delete from merchant_logos where merchant_id = ${uuidOf(merchantId)}`)
}
