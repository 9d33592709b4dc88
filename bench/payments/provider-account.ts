/** The keys of every account at the provider of the benchmark. */
export const PROVIDER_SETTINGS = {
  secretKey: 'sk_test_0123456789abcdef0123456789abcdef01234567',
  publicKey: 'pk_test_89abcdef0123456789abcdef0123456789abcdef',
}

/** When the provider was asked about an order, and when it told of it. */
export interface Timeline {
  order: string
  /** Requests of the server under test. */
  calls: number
  startAsked: number
  noticeSent: number
  noticeAnswered: number
  /** The first one. */
  checkAsked: number
}
