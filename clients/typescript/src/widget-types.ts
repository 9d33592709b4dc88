// Emitted from web/widget/types.d.ts by `npm run openapi`. Do not edit.
/**
 * The payment's word, as the API has it. What the browser says is for display: verify on your server before you
 * deliver.
 */
export interface Result {
  /** As it was given to `open`. */
  reference: string
  status: 'successful' | 'pending' | 'cancelled' | 'expired'
}

export interface Failure extends Result {
  code: 'load_timeout' | 'not_found' | 'origin_not_allowed' | 'unknown'
  /** For developers, in English. The customer is shown a sentence and a link to the full page. */
  message: string
}

export interface Options {
  /** What your server got from a checkout or from initialize. */
  reference: string
  /** Your public client-id; by default the `data-client-id` of the script's tag. */
  clientId?: string
  /** What your server asked for with `POST …/{reference}/widget-token`. A merchant in strict mode needs one. */
  token?: string
  /** A language tag, like `fr`. */
  locale?: string
  theme?: 'auto' | 'light' | 'dark'
  /** The page is there to be seen. */
  onLoad?(): void
  /** At each change. */
  onStatus?(result: Result): void
  /** The service confirmed the payment. */
  onSuccess?(result: Result): void
  /** Given up for good. Closing the window is not that. */
  onCancel?(result: Result): void
  onError?(failure: Failure): void
  /** The window is gone: last of all, exactly once. */
  onClose?(result: Result): void
}

export interface Handle {
  reference: string
  /** Closes the window without asking the customer. The payment stays what it is. */
  close(): void
  /** Settled when the window closes; never rejected. */
  result: Promise<Result>
}

export interface Widget {
  /**
   * Opens the payment page over the shop. A payment that is open already is not opened twice; another one closes it.
   */
  open(options: Options): Handle
  /** Connects ahead of time, for example when the pointer nears the button. */
  preload(): void
}


declare global {
  /** Made by the script tag. The module makes no global. */
  var Pay: Widget

  /** Fired at elements with `data-pay-reference`; they bubble. */
  interface HTMLElementEventMap {
    'pay:status': CustomEvent<Result>
    'pay:success': CustomEvent<Result>
    'pay:cancel': CustomEvent<Result>
    'pay:error': CustomEvent<Failure>
    'pay:close': CustomEvent<Result>
  }
}
