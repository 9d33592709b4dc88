-- The last clear answer of the provider about the attempt: paid, not paid, declined, or an unknown order. An attempt is
-- asked about until there was one after its instructions had ended.
alter table attempts add column answered_at timestamptz;

-- When the provider was asked for the refund. A provider without an idempotency key is asked once, and then only
-- searched.
alter table refunds add column asked_at timestamptz;
update refunds set asked_at = created_at where status = 'pending' and (tries > 0 or lease is not null);

-- Successful payments of the link that were deleted by age. They count for its limit.
alter table links add column deleted_payments integer not null default 0;
