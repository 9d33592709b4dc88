-- Hourly sums for the charts of the dashboard. A job folds new payments and events into them: docs/decisions/0017-rollups.md.

create table rollups (
  place        smallint not null,
  merchant_id  uuid not null,
  mode         text not null,
  hour         timestamptz not null,
  currency     text not null,
  -- payment.created, or the type of an event.
  fact         text not null,
  -- Of the attempt that the fact is about; empty if it is about none.
  provider     text not null,
  channel      text not null,
  -- attempt.failed: the failure code. payment.successful: the time to pay, as the upper bound of its bucket in seconds.
  detail       text not null,
  count        bigint not null,
  amount       bigint not null,
  primary key (place, merchant_id, mode, hour, currency, fact, provider, channel, detail)
);
alter table rollups alter column place set statistics 0;

-- Payments and events with ids up to this one are in the rollups.
create table rollup_cursors (
  place      smallint primary key,
  folded_to  uuid not null
);
alter table rollup_cursors alter column place set statistics 0;
