-- Workers that send webhooks. Each renews its row every second, so that the leases of a worker that was killed can be released
-- before they end by themselves.
create table delivery_workers (
  id           uuid primary key,
  -- Since when it has renewed without a gap.
  alive_since  timestamptz not null,
  alive_until  timestamptz not null
);
