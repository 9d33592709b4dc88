import { type Static, Type } from 'typebox'
import { RECEIPT_SENDS, type ReceiptSends } from '../../payments/store/customer-receipts.ts'

/** Requests and answers for mails to customers and members. The web application imports their types. */

const sends = Type.Unsafe<ReceiptSends>({ type: 'string', enum: [...RECEIPT_SENDS] })

/** `hasMail`: the operator has set a mail server. */
export const ReceiptsAnswer = Type.Object({ data: Type.Object({ sends, hasMail: Type.Boolean() }) })
export type ReceiptsAnswer = Static<typeof ReceiptsAnswer>
export const ReceiptsChange = Type.Object({ sends })
