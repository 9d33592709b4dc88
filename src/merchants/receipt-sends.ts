/** When a merchant's customers get receipts by e-mail. `on_request`: when they ask for one on the payment page. */
export const RECEIPT_SENDS = ['never', 'on_request', 'always'] as const
export type ReceiptSends = (typeof RECEIPT_SENDS)[number]
