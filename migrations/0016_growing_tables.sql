-- What a stranger can grow stays bounded, and no query reads more as its table grows.

-- The time of the last check that an unsigned notice scheduled. Kept on the payment's first attempt: one a minute per payment.
alter table attempts add column hinted_at timestamptz;

-- A notice that came before its attempt knew the provider's reference is looked up under the payment's lock.
create index notices_unmatched_by_reference on notices (merchant_id, mode, provider, reference) where state = 'unmatched';
-- Finished notices are deleted 90 days after they came.
create index notices_finished on notices (received_at) where state in ('done', 'ignored');

create index receipts_of_payment on receipts (payment_id);
create index refunds_of_attempt on refunds (attempt_id);

-- Idempotency keys are deleted after 48 hours.
create index idempotent_calls_by_age on idempotent_calls (created_at);
