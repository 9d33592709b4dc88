-- Sums of whole days (UTC) for charts of months. A job makes them from the hourly ones: docs/decisions/0017-rollups.md.

create table daily_rollups (
  place        smallint not null,
  merchant_id  uuid not null,
  mode         text not null,
  day          timestamptz not null,
  currency     text not null,
  fact         text not null,
  provider     text not null,
  channel      text not null,
  detail       text not null,
  count        bigint not null,
  amount       bigint not null,
  primary key (place, merchant_id, mode, day, currency, fact, provider, channel, detail)
);
alter table daily_rollups alter column place set statistics 0;

-- Days before this one are in daily_rollups. Null: none.
alter table rollup_cursors add column days_to timestamptz;
