-- Telling merchants: where, with which secret, and what became of it.

-- What is sent, byte for byte, for the events that merchants are told of; null for those that only our books need.
alter table events add column body text;
create index events_of_merchant on events (merchant_id, mode, id) where body is not null;

create table webhook_endpoints (
  id                     uuid primary key,
  merchant_id            uuid not null references merchants,
  mode                   text not null check (mode in ('sandbox', 'live')),
  url                    text not null,
  events                 text[] not null, -- empty: all of them
  enabled                boolean not null default true,
  disabled_reason        text,
  sealed_secret          bytea not null,
  sealed_previous_secret bytea,
  previous_until         timestamptz,
  -- Since when it has done nothing but fail; null when its last answer was good.
  failing_since          timestamptz,
  created_at             timestamptz not null default now(),
  deleted_at             timestamptz
);
create index webhook_endpoints_of_merchant on webhook_endpoints (merchant_id, mode) where deleted_at is null;

-- For the `webhook` of a request: one secret per merchant and mode.
create table webhook_secrets (
  merchant_id            uuid not null references merchants,
  mode                   text not null check (mode in ('sandbox', 'live')),
  sealed_secret          bytea not null,
  sealed_previous_secret bytea,
  previous_until         timestamptz,
  primary key (merchant_id, mode)
);

-- The queue and the log in one: what waits, what was delivered, and what was given up, until it is thirty days old.
create table deliveries (
  id            uuid primary key,
  event_id      uuid not null references events,
  merchant_id   uuid not null,
  mode          text not null,
  endpoint_id   uuid references webhook_endpoints,
  url           text not null,
  -- Who must not wait for whom: an endpoint, or a merchant's host.
  destination   text collate "C" not null,
  state         text not null default 'waiting' check (state in ('waiting', 'delivered', 'exhausted', 'disabled')),
  tries         integer not null default 0,
  -- Tries of earlier rounds, before somebody asked for it to be sent again: the waits begin anew.
  tries_before  integer not null default 0,
  due_at        timestamptz not null default now(),
  created_at    timestamptz not null default now(),
  done_at       timestamptz
);
create index deliveries_waiting on deliveries (destination, due_at) where state = 'waiting';
create index deliveries_of_event on deliveries (event_id);
create index deliveries_given_up on deliveries (merchant_id, mode, created_at) where state in ('exhausted', 'disabled');
create index deliveries_done on deliveries (done_at) where done_at is not null;

-- Which process serves a destination, so that it alone counts what is in flight there. Deliveries themselves are only written when they are done.
create table delivery_lanes (
  destination  text collate "C" primary key,
  owner        uuid not null,
  owned_until  timestamptz not null
);

create table delivery_tries (
  delivery_id  uuid not null references deliveries on delete cascade,
  number       integer not null,
  at           timestamptz not null default now(),
  status       integer,
  error        text,
  took_ms      integer not null,
  answer       text not null default '',
  primary key (delivery_id, number)
);
