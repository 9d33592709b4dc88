-- Surplus is refunded automatically only while the provider issued the ids of all transactions of the attempt. False for the attempts that
-- are there, and for those that the previous version writes: a person decides about their surplus.
alter table attempts add column ids_are_providers boolean not null default false;
