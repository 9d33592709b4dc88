-- The customer's bank account that a refund goes to, for providers that need it. AES-256-GCM, with the refund as associated data. Null: none is
-- needed, or the provider has it, or the refund has ended.
alter table refunds add column sealed_account bytea;
