-- outside a transaction

-- Reconciliation with the providers' own lists. One row for each list of a provider account (merchant, mode, provider)
-- and window of time: when it is due, the run under way, which goes on at its cursor after a crash, and the last
-- result.
create table if not exists reconciliation_runs (
  merchant_id    uuid not null references merchants,
  mode           text not null check (mode in ('sandbox', 'live')),
  provider       text not null,
  -- open: refunds and disputes that are not finished, order by order.
  kind           text not null check (kind in ('transactions', 'refunds', 'disputes', 'open')),
  -- by hand: asked for by `manilla audit --provider --repair`; due once.
  time_window    text not null check (time_window in ('2 hours', '48 hours', '8 days', '180 days', 'open', 'by hand')),
  created_at     timestamptz not null default now(),
  due_at         timestamptz not null,
  -- Only the process that holds the lease goes on with the run.
  lease          uuid,
  leased_until   timestamptz not null default '-infinity',
  -- The run under way; null when there is none.
  started_at     timestamptz,
  range_from     timestamptz,
  range_to       timestamptz,
  -- absent: the list was read to its end, and what it lacks is asked for by itself.
  phase          text not null default 'list' check (phase in ('list', 'absent')),
  keys_version   integer,
  cursor         text,
  -- Of the run under way, or the last one.
  listed         integer not null default 0,
  agreed         integer not null default 0,
  booked         integer not null default 0,
  foreign_count  integer not null default 0,
  asked          integer not null default 0,
  absent         integer not null default 0,
  -- The last run that was finished, and the end of its range.
  finished_at    timestamptz,
  compared_to    timestamptz,
  -- Why the run cannot go on, and since when; null when it can.
  failure        text,
  failed_since   timestamptz,
  -- The provider has no such list for this account, and why.
  unsupported    text,
  primary key (merchant_id, mode, provider, kind, time_window)
);
create index if not exists reconciliation_runs_due on reconciliation_runs (due_at);

-- The receipts that a run has found in the list of transactions. Deleted at the end of the run.
create table if not exists reconciliation_listed (
  place        smallint not null,
  merchant_id  uuid not null,
  mode         text not null,
  provider     text not null,
  time_window  text not null,
  receipt_id   bigint not null,
  primary key (merchant_id, mode, provider, time_window, receipt_id, place)
);

-- As for all tables with a place.
alter table reconciliation_listed alter column place set statistics 0;

-- The listing of each payment that this replaces. Its index goes with the columns.
alter table attempts drop column if exists reconcile_at, drop column if exists reconcile_until;

-- The receipts of an account by the time of the money, to find those that a list lacks.
drop index concurrently if exists receipts_by_time;
create index concurrently receipts_by_time on receipts (merchant_id, mode, provider, taken_at, place);
