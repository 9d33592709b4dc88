import type { BenchDatabase } from './bench-database.ts'

export const MERCHANTS = 200
const DAYS = 90

/** The n-th merchant. */
export function merchantUuid(number: number): string {
  return `01900000-0000-7000-9000-${number.toString(16).padStart(12, '0')}`
}

/** A UUIDv7 of a time and a number. `kind` keeps the ids of one payment's rows apart. */
const uuid = (at: string, kind: number) => `(
  overlay(overlay(lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') placing '-' from 9 for 0) placing '' from 14 for 0)
  || '-700${kind}-8000-' || lpad(to_hex(n), 12, '0'))::uuid`
const AT = 'r.at'

/**
 * Payments of 200 merchants over 90 days, written by PostgreSQL itself: most are paid by card at the first try, some by
 * transfer, some are declined first, cancelled, expired or open. The measured merchants have as many as the others.
 */
export async function seed(database: BenchDatabase, url: string, payments: number): Promise<void> {
  const rows = `(select n, 1 + n % ${MERCHANTS} as merchant, (n % ${MERCHANTS}) * 5 as place,
      now() - interval '2 minutes' - interval '${DAYS} days' * (1 - n / ${payments}.0) as at,
      n / ${MERCHANTS} % 20 as kind from generate_series(1, ${payments}) n) r`
  const merchant = `('01900000-0000-7000-9000-' || lpad(to_hex(merchant), 12, '0'))::uuid`
  const isPaid = `kind not in (0, 1, 2)`
  const channel = `case when kind in (3, 4) then 'virtual-bank-account' else 'card' end`
  const statements = [
    'set session_replication_role = replica; set synchronous_commit = off',
    `insert into merchants (id, place, name, country)
       select ${merchant}, (merchant - 1) * 5, 'Merchant ' || merchant, 'NG' from generate_series(1, ${MERCHANTS}) merchant`,
    `insert into integrations (merchant_id, mode, provider, channels, countries, currencies)
       select ${merchant}, 'live', 'paystack', '{card}', '{NG}', '{NGN}' from generate_series(1, ${MERCHANTS}) merchant`,
    `insert into payments (place, id, merchant_id, mode, reference, short_code, status, late, amount, amount_paid, currency, country,
                           customer_bears_charge, user_email, user_name, metadata, sequence, version, created_at, expires_at, completed_at)
       select place, ${uuid(AT, 0)}, ${merchant}, 'live', 'order-' || n, 'code-' || n,
              case kind when 0 then 'expired' when 1 then 'cancelled' when 2 then 'pending' else 'successful' end, n % 1009 = 0,
              1000 * (1 + n % 997), case when ${isPaid} then 1000 * (1 + n % 997) else 0 end, case when n % 13 = 0 then 'GHS' else 'NGN' end, 'NG', false,
              'customer' || n % ${Math.ceil(payments / 4)} || '@example.com', 'Ada', '{}', 3, 3, at, at + interval '1 day', at
         from ${rows}`,
    `insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, channel, status, currency, amount_charged, fee,
                           amount_received, order_reference, provider_reference, failure, instructions, needs_review, created_at)
       select place, ${uuid(AT, 1)}, ${uuid(AT, 0)}, ${merchant}, 'live', 1, 'attempt-' || n, case when n % 3 = 0 then 'stripe' else 'paystack' end,
              ${channel}, case when ${isPaid} then 'successful' else 'failed' end, case when n % 13 = 0 then 'GHS' else 'NGN' end, 1000 * (1 + n % 997), 0,
              case when ${isPaid} then 1000 * (1 + n % 997) else 0 end, 'order-ref-' || n, 'provider-ref-' || n,
              case when not (${isPaid}) then jsonb_build_object('code', case when n % 2 = 0 then 'insufficient_funds' else 'card_declined' end) end,
              case when kind in (3, 4) then jsonb_build_object('kind', 'account', 'accountNumber', (1000000000 + n)::text) end,
              case when n % 2003 = 0 then 'a person must look' end, at
         from ${rows}`,
    ...[
      ['1', `'attempt.started'`, 'true', 'null'],
      [
        '2',
        `case when ${isPaid} then 'attempt.successful' else 'attempt.failed' end`,
        'true',
        `case when not (${isPaid}) then '{}' end`,
      ],
      [
        '3',
        `case kind when 0 then 'payment.expired' when 1 then 'payment.cancelled' else 'payment.successful' end`,
        'kind <> 2',
        `'{}'`,
      ],
    ].map(
      ([sequence, type, which, body]) => `
     insert into events (place, id, merchant_id, mode, payment_id, type, sequence, data, body, occurred_at)
       select place, ${uuid(`(${AT} + interval '${sequence}0 seconds')`, Number(sequence))}, ${merchant}, 'live', ${uuid(AT, 0)}, ${type}, ${sequence},
              jsonb_build_object('attempt', jsonb_build_object('reference', 'attempt-' || n, 'failure',
                case when not (${isPaid}) then jsonb_build_object('code', case when n % 2 = 0 then 'insufficient_funds' else 'card_declined' end) end)),
              ${body}, at + interval '${sequence}0 seconds'
         from ${rows} where ${which}`,
    ),
    `insert into deliveries (place, id, event_id, merchant_id, mode, url, destination, state, tries, due_at, created_at, done_at)
       select place, ${uuid(AT, 4)}, ${uuid(`(${AT} + interval '30 seconds')`, 3)}, ${merchant}, 'live', 'https://shop.example/hook',
              'shop.example ' || merchant, case when n % 50 = 0 then 'exhausted' else 'delivered' end, 1, at, at, at
         from ${rows} where kind <> 2 and at > now() - interval '30 days'`,
    `insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, status, counted, created_at)
       select place, ${uuid(AT, 5)}, ${uuid(AT, 0)}, ${uuid(AT, 1)}, ${merchant}, 'live', 500, 'NGN', 'merchant',
              case when n % 400 = 0 then 'failed' else 'successful' end, true, at
         from ${rows} where ${isPaid} and n % 20 = 0`,
    `insert into receipts (place, merchant_id, mode, provider, transaction_id, attempt_id, payment_id, amount, currency, counted, taken_at)
       select place, ${merchant}, 'live', 'paystack', 'transaction-' || n, case when n % 5003 > 0 then ${uuid(AT, 1)} end,
              case when n % 5003 > 0 then ${uuid(AT, 0)} end, 1000 * (1 + n % 997), 'NGN', true, at
         from ${rows} where ${isPaid}`,
    'analyze',
  ]
  await database.ask(url, statements.join(';\n'))
}
