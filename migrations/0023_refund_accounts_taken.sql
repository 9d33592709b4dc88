-- When the provider took the customer's bank account that it had waited for. The days in which it should
-- finish the refund begin then.
alter table refunds add column account_taken_at timestamptz;
