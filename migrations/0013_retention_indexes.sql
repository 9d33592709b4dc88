-- outside a transaction
-- For foreign keys: without them, each deleted row would read a whole table.
drop index concurrently if exists disputes_of_refund;
create index concurrently disputes_of_refund on disputes (place, refund_id) where refund_id is not null;
drop index concurrently if exists reviews_of_refund;
create index concurrently reviews_of_refund on reviews (place, refund_id) where refund_id is not null;
drop index concurrently if exists gateway_disputes_settled_by;
create index concurrently gateway_disputes_settled_by on gateway_disputes (place, settled_by) where settled_by is not null;
-- The oldest first.
drop index concurrently if exists gateway_payments_by_age;
create index concurrently gateway_payments_by_age on gateway_payments (created_at, place);
drop index concurrently if exists gateway_notices_by_age;
create index concurrently gateway_notices_by_age on gateway_notices (created_at, place) where state <> 'waiting';
