-- What a credential may do, until when and from where.
alter table credentials
  add column scopes text[] not null default '{payments:write,payments:read,refunds,integrations,webhooks}' check (cardinality(scopes) > 0),
  add column expires_at timestamptz,
  -- Addresses and CIDR ranges; empty: from everywhere.
  add column allowed_addresses text[] not null default '{}' check (cardinality(allowed_addresses) <= 50);

-- When a rotation of SECRET_KEY began.
alter table secret_keys add column added_at timestamptz not null default now();
