import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import type { FakeProvider } from '../../fakes/fake-provider.ts'

/**
 * Two accounts of a merchant at one provider, as one fake: the merchant changes from the first to the second in
 * mid-run. What a customer does goes to the account that the order was made with.
 */
export function twoAccounts(database: Database, first: FakeProvider, second: FakeProvider): FakeProvider {
  async function accountOf(reference: string): Promise<FakeProvider> {
    const row = await database.row<{ account: number }>(
      sql`select account from attempts where order_reference = ${reference}`,
    )
    return row?.account === 2 ? second : first
  }
  const { transfer, letStepRunOut, approve, refuse, expire } = first.customer
  const closers = new Map<string, FakeProvider>()
  return {
    ...first,
    customer: {
      payByCard: async (reference, options) => (await accountOf(reference)).customer.payByCard(reference, options),
      failByCard: async (reference) => (await accountOf(reference)).customer.failByCard(reference),
      ...(transfer && {
        transfer: async (reference, amount) => (await accountOf(reference)).customer.transfer?.(reference, amount),
      }),
      ...(approve && { approve: async (reference) => (await accountOf(reference)).customer.approve?.(reference) }),
      ...(refuse && { refuse: async (reference) => (await accountOf(reference)).customer.refuse?.(reference) }),
      ...(expire && { expire: async (reference) => (await accountOf(reference)).customer.expire?.(reference) }),
      ...(letStepRunOut && {
        letStepRunOut: async (reference) => (await accountOf(reference)).customer.letStepRunOut?.(reference),
      }),
    },
    async refundAtProvider(reference, amount) {
      return (await accountOf(reference)).refundAtProvider?.(reference, amount)
    },
    ...(first.disputeAtProvider && {
      async disputeAtProvider(reference, dispute) {
        const account = await accountOf(reference)
        const id = String(await account.disputeAtProvider?.(reference, dispute))
        closers.set(id, account)
        return id
      },
      closeDispute: async (id, outcome) => closers.get(id)?.closeDispute?.(id, outcome),
    }),
    ledger() {
      const [one, two] = [first.ledger(), second.ledger()]
      return { taken: [...one.taken, ...two.taken], givenBack: [...one.givenBack, ...two.givenBack] }
    },
    takeNotices: () => [...first.takeNotices(), ...second.takeNotices()],
  }
}
