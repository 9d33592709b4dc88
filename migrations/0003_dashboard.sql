-- Indexes for the lists and the search of the dashboard, and the limit for refunds by support. Each index on a table that every payment
-- writes is partial: an ordinary payment is in none of them.

-- In the lowest denomination of the payment's currency. A larger refund needs a fresh second factor, and support cannot make it.
alter table merchants add column refund_limit bigint not null default 5000000 check (refund_limit between 0 and 999999999999);

create index payments_late on payments (place, merchant_id, mode, id) where late;
create index attempts_to_review on attempts (place, merchant_id, mode, payment_id) where needs_review is not null;
create index attempts_by_failure on attempts (place, merchant_id, mode, (failure->>'code'), payment_id) where failure is not null;
create index attempts_by_provider_code on attempts (place, merchant_id, mode, (failure->>'providerCode'), payment_id)
  where failure->>'providerCode' is not null;
create index attempts_by_account_number on attempts (place, merchant_id, mode, (instructions->>'accountNumber'))
  where instructions->>'accountNumber' is not null;
create index saved_cards_by_last4 on saved_cards (place, merchant_id, mode, last4);

create index refunds_of_merchant on refunds (place, merchant_id, mode, id);
create index refunds_by_status on refunds (place, merchant_id, mode, status, id);
create index receipts_unmatched_of_merchant on receipts (place, merchant_id, mode, id) where attempt_id is null;
create index notices_unmatched_of_merchant on notices (place, merchant_id, mode, id) where state = 'unmatched';
