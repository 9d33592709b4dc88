-- Only the process that holds the lease of a refund may ask the provider for it. `due_at` says when it is to be asked next; until now it was
-- the lease as well, so a client's retry and the worker could both take one whose process had died.
alter table refunds
  add column lease uuid,
  add column leased_until timestamptz not null default '-infinity';
