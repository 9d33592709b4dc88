-- Accounts of the dashboard: members, what they sign in with, their sessions, and the one-time links that make them.

alter table merchants add column require_second_factor boolean not null default false;

-- The address that a change came from; only members have one.
alter table audit_log add column address text;
create index audit_log_of_merchant on audit_log (place, merchant_id, id);

create table members (
  id              uuid primary key,
  email           text not null unique check (length(email) between 3 and 254),
  name            text not null check (length(name) between 1 and 100),
  -- Runs the installation. Granted on the command line only.
  operator        boolean not null default false,
  -- argon2id, in PHC string format; null for a member with passkeys only.
  password_hash   text,
  -- Sealed. The pending one becomes the secret when its first code is confirmed.
  totp_secret     bytea,
  totp_pending    bytea,
  -- The time step of the last accepted code: a code is accepted once.
  totp_last_step  bigint not null default 0,
  created_at      timestamptz not null default now()
);

create table memberships (
  member_id    uuid not null references members,
  merchant_id  uuid not null references merchants,
  role         text not null check (role in ('owner', 'admin', 'developer', 'support', 'viewer')),
  created_at   timestamptz not null default now(),
  primary key (member_id, merchant_id)
);
create index memberships_of_merchant on memberships (merchant_id);
create unique index one_owner_per_merchant on memberships (merchant_id) where role = 'owner';

create table passkeys (
  id             uuid primary key,
  member_id      uuid not null references members,
  credential_id  text not null unique,
  public_key     bytea not null,
  -- The authenticator's signature counter; synced passkeys always send 0.
  counter        bigint not null,
  transports     text[] not null,
  name           text not null check (length(name) between 1 and 100),
  created_at     timestamptz not null default now(),
  last_used_at   timestamptz
);
create index passkeys_of_member on passkeys (member_id);

-- A used code is deleted. A code has 80 random bits, so a plain SHA-256 cannot be guessed back.
create table recovery_codes (
  member_id  uuid not null references members,
  digest     bytea not null check (length(digest) = 32),
  primary key (member_id, digest)
);

create table sessions (
  id            uuid primary key,
  member_id     uuid not null references members,
  token_digest  bytea not null unique check (length(token_digest) = 32),
  -- False until the second factor is given. Such a session can do nothing else.
  complete      boolean not null,
  -- The last time at which the member proved their identity in this session (step-up).
  confirmed_at  timestamptz,
  created_at    timestamptz not null default now(),
  last_seen_at  timestamptz not null default now(),
  expires_at    timestamptz not null,
  address       text not null,
  user_agent    text not null
);
create index sessions_of_member on sessions (member_id);

-- Welcome and invitation links make a member, reset links change one. The token has 256 random bits and is not stored.
create table one_time_links (
  id                    uuid primary key,
  kind                  text not null check (kind in ('welcome', 'invitation', 'reset')),
  digest                bytea not null unique check (length(digest) = 32),
  merchant_id           uuid references merchants,
  role                  text check (role in ('owner', 'admin', 'developer', 'support', 'viewer')),
  email                 text,
  member_id             uuid references members,
  grants_operator       boolean not null default false,
  clears_second_factor  boolean not null default false,
  created_by            text not null,
  created_at            timestamptz not null default now(),
  expires_at            timestamptz not null,
  used_at               timestamptz,
  check ((kind = 'reset') = (member_id is not null)),
  check ((kind = 'reset') = (merchant_id is null)),
  check ((merchant_id is null) = (role is null))
);
create index one_time_links_of_merchant on one_time_links (merchant_id);

-- Counts tries to sign in, by a digest of the account, address or device, to slow guessing down.
create table sign_in_tries (
  key       bytea primary key check (length(key) = 32),
  tries     integer not null,
  tried_at  timestamptz not null
);

-- Challenges of accepted passkey signatures, so that a signature is accepted once.
create table used_challenges (
  digest      bytea primary key check (length(digest) = 32),
  expires_at  timestamptz not null
);
