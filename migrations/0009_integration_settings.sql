-- Integrations that merchants set up themselves: their keys, where the provider is, and who is asked first.

alter table integrations
  -- AES-256-GCM, with merchant, mode and provider as associated data. Null: the provider has nothing to set up.
  add column sealed_settings bytea,
  -- Null: the provider's own.
  add column base_url text check (length(base_url) between 1 and 2048),
  -- The lower number is asked first.
  add column priority integer not null default 100 check (priority between 0 and 1000),
  -- Rises with each change, so that every process notices with one look whether what it remembers still holds.
  add column version bigint not null default 1,
  add column updated_at timestamptz not null default now();

-- Until now there were none but those with play money, which come last: whoever sets up another means to use it.
update integrations set priority = 1000;

comment on column integrations.enabled is
  'False: removed. No new payment uses it; what is under way is still checked, and refunded, with the same keys.';
