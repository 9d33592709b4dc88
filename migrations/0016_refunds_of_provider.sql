-- outside a transaction
-- Whether a refund that a provider lists for an order is on record for another payment.
drop index concurrently if exists refunds_by_provider_id;
create index concurrently refunds_by_provider_id on refunds (place, merchant_id, mode, provider_refund_id)
 where provider_refund_id is not null;
