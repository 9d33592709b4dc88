import { checkOrder } from '../providers/check-order.ts'
import type { KeysVerdict, ProviderClient, Receipt, RefundOrder } from '../providers/provider.ts'

const VERDICT_CACHED_MS = 60_000

/**
 * New keys of a merchant may belong to another provider account, or may be rotated keys of the same one. After a
 * rotation the provider refuses the old keys, and only the new keys can access the old orders.
 *
 * The account's own keys are used first. When the outcome is unknown and the provider refuses these keys, the current
 * keys are used. Their answer counts only if they find the order: order references are random, so another account does
 * not have it. Otherwise the outcome stays unknown.
 *
 * Where the settings name the account, the current keys of the same account are used first: the provider may accept the
 * old keys, and refuse another setting, such as a password that a person has changed.
 *
 * `current`: the client with the current keys; undefined when these are the current ones. `now` is a monotonic clock.
 */
export function withRotatedKeys(
  own: ProviderClient,
  current: () => Promise<ProviderClient | undefined>,
  now: () => number = () => performance.now(),
): ProviderClient {
  let verdict: { kind: KeysVerdict['kind']; atMs: number } | undefined

  async function isRefused(): Promise<boolean> {
    if (!verdict || now() - verdict.atMs > VERDICT_CACHED_MS)
      verdict = { kind: (await own.verifyKeys()).kind, atMs: now() }
    return verdict.kind === 'bad'
  }

  /** The current keys, if they have replaced these and the provider refuses these. */
  async function successor(): Promise<ProviderClient | undefined> {
    const next = await current()
    return next && (await isRefused()) ? next : undefined
  }

  /** The current keys, if they have replaced these and are of the same account. */
  async function ofSameAccount(): Promise<ProviderClient | undefined> {
    const next = own.account === undefined ? undefined : await current()
    return next?.account === own.account ? next : undefined
  }

  const rotated: Partial<ProviderClient> = {
    async check(order) {
      const said = await (await ofSameAccount())?.check(order)
      if (said && said.kind !== 'unknown') return said
      const answer = await own.check(order)
      if (answer.kind !== 'unknown') return answer
      const other = await (await successor())?.check(order)
      return !other || other.kind === 'missing' || other.kind === 'unknown' ? answer : other
    },
    async refund(order) {
      const same = await ofSameAccount()
      // No second try with the old keys: the refund may have been asked for, or these keys may be wrong on purpose.
      if (same) return same.refund(order)
      const answer = await own.refund(order)
      if (answer.kind === 'refunded' || answer.kind === 'pending') return answer
      const next = await successor()
      if (!next) return answer
      if (await hasMoneyOf(next, order)) return next.refund(order)
      return { kind: 'unknown', because: 'the provider refuses the keys of this account' }
    },
    ...(own.findReference && {
      async findReference(transactionId) {
        const answer = (await own.findReference?.(transactionId)) ?? { kind: 'missing' }
        if (answer.kind !== 'unknown') return answer
        const other = await (await successor())?.findReference?.(transactionId)
        return other?.kind === 'found' ? other : answer
      },
    }),
    ...(own.listReversals && {
      async listReversals(...args) {
        const answer = (await own.listReversals?.(...args)) ?? { kind: 'missing' }
        if (answer.kind !== 'unknown') return answer
        const other = await (await successor())?.listReversals?.(...args)
        return other?.kind === 'reversals' ? other : answer
      },
    }),
  }
  return new Proxy(own, {
    get: (target, name, receiver) => Reflect.get(rotated, name) ?? Reflect.get(target, name, receiver),
  })
}

/**
 * Whether these keys find the order. What a person matched is of another order at the provider: that one must have the
 * very same money.
 */
async function hasMoneyOf(keys: ProviderClient, { order, matched }: RefundOrder): Promise<boolean> {
  const found = await keys.check(order)
  if (found.kind !== 'missing' || !matched) return found.kind !== 'missing' && found.kind !== 'unknown'
  for (const receipt of matched.receipts) if (!(await hasReceipt(keys, receipt, matched.isOnRecord))) return false
  return matched.receipts.length > 0
}

/**
 * Transaction ids are unique within one account only, so the amount and the time must agree, and an order on record is
 * another one.
 */
async function hasReceipt(
  keys: ProviderClient,
  { transactionId, amount, at }: Receipt,
  isOnRecord: (reference: string) => Promise<boolean>,
): Promise<boolean> {
  const named = await keys.findReference?.(transactionId)
  if (named?.kind !== 'found' || (await isOnRecord(named.reference))) return false
  const answer = await checkOrder(keys, named.reference, at)
  return (
    'receipts' in answer &&
    answer.receipts.some(
      (each) =>
        each.transactionId === transactionId &&
        each.amount.amount === amount.amount &&
        each.amount.currency === amount.currency &&
        each.at.getTime() === at.getTime(),
    )
  )
}
