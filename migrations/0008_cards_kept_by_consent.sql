-- The customer agreed, on our page or through the merchant, that the card of this attempt be kept.
alter table attempts add column save_card boolean not null default false;
