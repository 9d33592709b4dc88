-- outside a transaction
-- All saved cards of an address, also those of customers with an id of the merchant.
drop index concurrently if exists saved_cards_of_address;
create index concurrently saved_cards_of_address on saved_cards (place, merchant_id, mode, lower(email));
-- With the id: a page is read in the order of the index.
drop index concurrently if exists deliveries_given_up_by_time;
create index concurrently deliveries_given_up_by_time on deliveries (place, merchant_id, mode, created_at, id)
 where state in ('exhausted', 'disabled');
drop index concurrently if exists deliveries_given_up;
