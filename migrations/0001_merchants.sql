-- Who asks for payments, the keys they ask with, and what can take the money for them.

create table merchants (
  id          uuid primary key,
  name        text not null check (length(name) between 1 and 200),
  country     text not null check (country ~ '^[A-Z]{2}$'),
  status      text not null default 'active' check (status in ('active', 'suspended')),
  created_at  timestamptz not null default now()
);

-- The secret itself is shown once and never stored: it is 256 random bits, so a plain SHA-256 cannot be guessed back.
create table credentials (
  client_id      text primary key,
  merchant_id    uuid not null references merchants,
  mode           text not null check (mode in ('sandbox', 'live')),
  secret_digest  bytea not null check (length(secret_digest) = 32),
  created_at     timestamptz not null default now(),
  revoked_at     timestamptz,
  -- To the minute or so: enough to see whether an old credential may be revoked.
  last_used_at   timestamptz
);
create index credentials_of_merchant on credentials (merchant_id);

create table integrations (
  merchant_id  uuid not null references merchants,
  mode         text not null check (mode in ('sandbox', 'live')),
  provider     text not null,
  channels     text[] not null,
  countries    text[] not null,
  currencies   text[] not null,
  enabled      boolean not null default true,
  created_at   timestamptz not null default now(),
  primary key (merchant_id, mode, provider)
);

-- Every privileged act, written in the transaction that does it.
create table audit_log (
  id           bigint generated always as identity primary key,
  at           timestamptz not null default now(),
  actor        text not null,
  act          text not null,
  merchant_id  uuid,
  subject      text not null
);

create function refuse_to_rewrite_history() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: what happened is not rewritten', tg_table_name;
end $$;

create trigger audit_log_is_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_to_rewrite_history();
