-- Pressing Pay on our page. The key of a press lives on the attempt that it made, so that neither exists without the other: sent again,
-- by a second click or after a lost answer, it finds its attempt and makes no second one.
alter table attempts add column page_key text collate "C";
create unique index one_attempt_per_press on attempts (payment_id, page_key) where page_key is not null;
