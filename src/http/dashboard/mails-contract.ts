import { type Static, Type } from 'typebox'
import { ALERT_KINDS, type AlertKind } from '../../events/alert-kind.ts'
import { RECEIPT_SENDS, type ReceiptSends } from '../../merchants/receipt-sends.ts'

/** Requests and answers for mails to customers and members. The web application imports their types. */

const sends = Type.Unsafe<ReceiptSends>({ type: 'string', enum: [...RECEIPT_SENDS] })

/** `hasMail`: the operator has set a mail server. */
export const ReceiptsAnswer = Type.Object({ data: Type.Object({ sends, hasMail: Type.Boolean() }) })
export type ReceiptsAnswer = Static<typeof ReceiptsAnswer>
export const ReceiptsChange = Type.Object({ sends })

const kinds = Type.Array(Type.Unsafe<AlertKind>({ type: 'string', enum: [...ALERT_KINDS] }), { maxItems: 20 })
const choice = { kinds, daily: Type.Boolean() }
export const AlertsChange = Type.Object(choice)
export type AlertsChange = Static<typeof AlertsChange>
/** `available`: what the role may be told of. `email`: where it goes. */
export const AlertsAnswer = Type.Object({
  data: Type.Object({ ...choice, available: kinds, email: Type.String(), hasMail: Type.Boolean() }),
})
export type AlertsAnswer = Static<typeof AlertsAnswer>
