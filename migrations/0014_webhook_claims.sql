-- Webhook deliveries are found by the time they are due, merchant by merchant.

-- First tries (and deliveries that a merchant asked to send again). A failed try leaves this index, so hosts that
-- wait for a retry cost nothing here.
create index deliveries_first_tries on deliveries (merchant_id, destination)
  where state = 'waiting' and tries = tries_before;

-- One row for each destination that waits for a retry, however many deliveries wait there.
create table delivery_retries (
  destination  text collate "C" primary key,
  merchant_id  uuid not null,
  mode         text not null,
  -- Whether it is the host of a request's `webhook`: their number is limited for each merchant and mode.
  is_host      boolean not null,
  -- When the earliest of its deliveries is due, or when the lease of the process that claimed it ends.
  next_due_at  timestamptz not null
);
create index delivery_retries_due on delivery_retries (merchant_id, next_due_at);
create index delivery_retries_hosts on delivery_retries (merchant_id, mode) where is_host;

insert into delivery_retries (destination, merchant_id, mode, is_host, next_due_at)
select destination, min(merchant_id::text)::uuid, min(mode), bool_and(endpoint_id is null), min(due_at)
  from deliveries where state = 'waiting' and tries > tries_before group by destination;

-- The deliveries of an endpoint that was switched off or deleted are updated in chunks by the worker, from this mark on.
alter table webhook_endpoints add column holds_deliveries boolean not null default false;
create index webhook_endpoints_holding on webhook_endpoints (id) where holds_deliveries;

-- For the list of events of one type.
create index events_of_merchant_by_type on events (merchant_id, mode, type, id) where body is not null;
