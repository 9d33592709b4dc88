-- outside a transaction
-- The two searches for due deliveries go from merchant to merchant, over all places, so the place is the last column.
drop index concurrently if exists deliveries_first_tries_of_merchant;
create index concurrently deliveries_first_tries_of_merchant on deliveries (merchant_id, destination, place)
 where state = 'waiting' and tries = tries_before;
drop index concurrently if exists deliveries_first_tries;
drop index concurrently if exists delivery_retries_of_merchant;
create index concurrently delivery_retries_of_merchant on delivery_retries (merchant_id, next_due_at, place);
drop index concurrently if exists delivery_retries_due;
