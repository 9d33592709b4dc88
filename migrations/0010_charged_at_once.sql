-- When an attempt's provider was first asked: later than it was made, where the customer had to say yes to a saved card first. Some
-- providers find an order whose answer was lost by its time alone. Null: as soon as it was made.
alter table attempts add column asked_at timestamptz;

-- A saved card was charged without a page: the customer has nothing to do, so what is not done yet is being done.
alter table attempts add column charged_at_once boolean not null default false;
