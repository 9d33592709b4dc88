-- The whole schema. Two kinds of tables:
--
-- Reference tables are small: merchants, what they set up, and the people of the dashboard. A cluster has a copy on
-- every machine. Growing tables have the `place` of their merchant. Every primary key, unique index and foreign key of
-- theirs contains it, so that a cluster can distribute them by place: docs/decisions/0014-place.md.
--
-- Place is the LAST column of each key and index, and never the first. A plan that was prepared while a table was empty
-- takes any index that begins with place, and then reads all rows of the place: with place first, a fresh database made
-- 0.30 of the payments that it makes after `analyze`, and with place last 0.96 (measured). Two kinds of indexes differ;
-- test/place.test.ts lists them:
--
-- * Lists of a merchant: (merchant_id, mode, place, id). Place comes right before the column that they are ordered by.
--   Behind it, PostgreSQL takes a list for as costly as the whole table, where one merchant has most of it, and then
--   reads all rows by the primary key: 90 000 pages for the oldest payment of merchants that have none, and one for
--   each with this order (100 000 payments, measured).
-- * Sums for charts: place comes first, because the sums of a place are made as one. No other statement can use these
--   indexes.
--
-- Ids, codes and generated references start with the time, so every index grows at its ends or is partial.

-- ---- Merchants ----

create table merchants (
  id                     uuid primary key,
  -- Chosen at random when the merchant is made, and never changed: the ids of its payments contain it.
  place                  smallint not null check (place between 0 and 1023),
  name                   text not null check (length(name) between 1 and 200),
  country                text not null check (country ~ '^[A-Z]{2}$'),
  status                 text not null default 'active' check (status in ('active', 'suspended')),
  created_at             timestamptz not null default now(),

  -- The payment page, in both modes.
  colour                 text check (colour ~ '^#[0-9a-f]{6}$'),
  corners                text not null default 'rounded' check (corners in ('square', 'rounded', 'pill')),
  -- Null: the customer's own.
  language               text check (language in ('en', 'fr', 'ar')),
  -- Null: only when the customer presses the button.
  return_after_seconds   integer default 5 check (return_after_seconds between 0 and 60),
  -- Sites that may show the page in a frame. They are sent in a header, so nothing may be in them that a header
  -- understands.
  origins                text[] not null default '{}' check (
    cardinality(origins) <= 20 and array_position(origins, null) is null
    and array_to_string(origins, ',') ~ '^(https?://[a-z0-9.:*-]+(,https?://[a-z0-9.:*-]+)*)?$'),
  -- Whether a reference opens the widget, or a token that the merchant's server asked for must come with it.
  widget                 text not null default 'open' check (widget in ('open', 'strict')),

  -- The dashboard.
  require_second_factor  boolean not null default false,
  -- In the lowest denomination of the payment's currency. A larger refund needs a fresh second factor, and support
  -- cannot make it.
  refund_limit           bigint not null default 5000000 check (refund_limit between 0 and 999999999999),
  -- The zone in which days and times are shown, by its IANA name. Null: the zone of each member's browser.
  time_zone              text check (time_zone ~ '^[A-Za-z][A-Za-z0-9_+/-]{0,63}$')
);

-- Jobs that sum up a place find its merchants.
create index merchants_by_place on merchants (place);

-- A table of its own, so that a list of merchants stays light.
create table merchant_logos (
  merchant_id  uuid primary key references merchants,
  version      text not null check (version ~ '^[0-9a-f]{16}$'),
  type         text not null check (type in ('image/png', 'image/jpeg', 'image/webp')),
  bytes        bytea not null check (octet_length(bytes) between 1 and 10240)
);

-- The secret itself is shown once and never stored: it is 256 random bits, so a plain SHA-256 cannot be guessed back.
create table credentials (
  client_id          text primary key,
  merchant_id        uuid not null references merchants,
  mode               text not null check (mode in ('sandbox', 'live')),
  secret_digest      bytea not null check (length(secret_digest) = 32),
  -- What it may do, until when and from where.
  scopes             text[] not null default '{payments:write,payments:read,refunds,integrations,webhooks}'
                     check (cardinality(scopes) > 0),
  expires_at         timestamptz,
  -- Addresses and CIDR ranges; empty: from everywhere.
  allowed_addresses  text[] not null default '{}' check (cardinality(allowed_addresses) <= 50),
  created_at         timestamptz not null default now(),
  revoked_at         timestamptz,
  -- To the minute: enough to see whether an old credential may be revoked.
  last_used_at       timestamptz
);
create index credentials_of_merchant on credentials (merchant_id);

-- Which SECRET_KEY sealed what is stored: a wrong one is noticed at the start, not at the first payment.
create table secret_keys (
  key_id    text primary key,
  canary    bytea not null,
  -- When a rotation of SECRET_KEY began.
  added_at  timestamptz not null default now()
);

-- ---- The audit log ----

-- Every privileged act, written in the transaction that does it.
create table audit_log (
  place        smallint not null,
  id           bigint generated always as identity,
  at           timestamptz not null default now(),
  actor        text not null,
  -- Where the act came from; only members have one.
  address      text,
  act          text not null,
  merchant_id  uuid,
  subject      text not null,
  primary key (id, place)
);
create index audit_log_of_merchant on audit_log (merchant_id, place, id);

-- A trigger for each row: those for each statement do nothing on the shards of a cluster.
create function refuse_to_rewrite_history() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: what happened is not rewritten', tg_table_name;
end $$;

create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function refuse_to_rewrite_history();

-- ---- Members: the people of the dashboard ----
-- What they sign in with, their sessions, and the one-time links that make them.

create table members (
  id                 uuid primary key,
  email              text not null unique check (length(email) between 3 and 254),
  -- An address is verified by a link that was mailed to it and shown to nobody else.
  email_verified_at  timestamptz,
  name               text not null check (length(name) between 1 and 100),
  -- Runs the installation. Granted on the command line only.
  operator           boolean not null default false,
  -- argon2id, in PHC string format; null for a member with passkeys only.
  password_hash      text,
  -- Sealed. The pending one becomes the secret when its first code is confirmed.
  totp_secret        bytea,
  totp_pending       bytea,
  -- The time step of the last accepted code: a code is accepted once.
  totp_last_step     bigint not null default 0,
  created_at         timestamptz not null default now()
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
  -- A link that is mailed and shown to its creator has two tokens, so that only the mailed one verifies the address.
  mailed_digest         bytea check (length(mailed_digest) = 32),
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
create unique index one_time_links_mailed on one_time_links (mailed_digest) where mailed_digest is not null;
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

-- Named sets of filters of the list of payments, which a member keeps for a merchant. They hold no search text: it may
-- be a customer's address, which must be erasable.
create table saved_views (
  id           uuid primary key,
  member_id    uuid not null,
  merchant_id  uuid not null,
  name         text not null,
  filters      jsonb not null,
  created_at   timestamptz not null default now(),
  foreign key (member_id, merchant_id) references memberships on delete cascade,
  unique (member_id, merchant_id, name)
);

-- ---- Integrations ----

create table integrations (
  merchant_id  uuid not null references merchants,
  mode         text not null check (mode in ('sandbox', 'live')),
  provider     text not null,
  channels     text[] not null,
  countries    text[] not null,
  currencies   text[] not null,
  -- False: removed. No new payment uses it; what is under way is still checked, and refunded, with the same keys.
  enabled      boolean not null default true,
  -- The lower number is asked first.
  priority     integer not null default 100 check (priority between 0 and 1000),
  -- The version of the keys that new payments use. 0: the provider has nothing to set up.
  account      integer not null default 0,
  -- Raised by each change: a payment is started only if the integration still has the version that was read.
  version      bigint not null default 1,
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  primary key (merchant_id, mode, provider)
);

-- The keys of a provider are versioned. An attempt keeps the version that it was started with, so that checks, notices
-- and refunds of it reach the same provider account after the merchant has set other keys.
create table provider_accounts (
  merchant_id      uuid not null references merchants,
  mode             text not null check (mode in ('sandbox', 'live')),
  provider         text not null,
  version          integer not null check (version > 0),
  -- AES-256-GCM, with merchant, mode and provider as associated data. Null: deleted after the account was out of use
  -- for long enough. The row stays, so that its version number is never used again.
  sealed_settings  bytea,
  -- Null: the provider's own.
  base_url         text check (length(base_url) between 1 and 2048),
  created_at       timestamptz not null default now(),
  -- Null: in use for new payments.
  retired_at       timestamptz,
  primary key (merchant_id, mode, provider, version)
);
create index provider_accounts_retired on provider_accounts (retired_at)
  where retired_at is not null and sealed_settings is not null;

-- ---- Payment links ----

-- Reusable: each makes ordinary payments, which name it.
create table links (
  place                  smallint not null,
  id                     uuid not null,
  merchant_id            uuid not null,
  mode                   text not null check (mode in ('sandbox', 'live')),
  -- The end of its address, /l/{code}.
  code                   text collate "C" not null,
  title                  text not null check (length(title) between 1 and 100),
  description            text check (length(description) between 1 and 500),
  -- Null: the customer chooses, within the limits.
  amount                 bigint check (amount between 1 and 999999999999),
  min_amount             bigint check (min_amount between 1 and 999999999999),
  max_amount             bigint check (max_amount between 1 and 999999999999),
  currency               text not null,
  country                text not null,
  customer_bears_charge  boolean not null,
  -- What the page asks for besides the e-mail address. The custom field is the text of its label.
  collect_name           boolean not null,
  collect_phone_number   boolean not null,
  custom_field           text check (length(custom_field) between 1 and 40),
  -- Null: any number of payments.
  max_payments           integer check (max_payments between 1 and 1000),
  active                 boolean not null,
  redirect_url           text,
  metadata               jsonb not null,
  created_at             timestamptz not null default now(),
  -- Null: never.
  expires_at             timestamptz,
  primary key (id, place),
  constraint amount_or_limits check (amount is null or (min_amount is null and max_amount is null)),
  constraint limits_in_order check (min_amount <= max_amount)
);
create unique index link_code on links (code, place);
create index links_of_merchant on links (merchant_id, mode, place, id);

-- ---- Payments ----

create table payments (
  place                  smallint not null,
  id                     uuid not null,
  merchant_id            uuid not null, -- no foreign key: each insert would lock the merchant's row, and merchants are never deleted
  mode                   text not null,
  reference              text collate "C" not null,
  short_code             text collate "C" not null,
  -- The link that it was made with, if any. No foreign key: links are never deleted.
  link_id                uuid,
  status                 text not null default 'pending',
  -- Paid after it was cancelled or had expired.
  late                   boolean not null default false,
  amount                 bigint not null,
  currency               text not null,
  country                text not null,
  customer_bears_charge  boolean not null,
  amount_paid            bigint not null default 0,
  amount_refunded        bigint not null default 0,
  -- The merchant's own id of a customer who is signed in there. Saved cards belong to it: an e-mail address that was
  -- typed proves nothing.
  user_id                text,
  user_email             text not null,
  user_phone_number      text,
  user_name              text,
  redirect_url           text,
  webhook_url            text,
  metadata               jsonb not null,
  -- The key stays with the payment that it made, so both are written by one statement and neither can be there alone.
  idempotency_key        text collate "C",
  request_digest         bytea,
  sequence               integer not null default 0,
  -- Raised by each change, so that retention deletes none that has just changed.
  version                bigint not null default 0,
  -- The W3C traceparent of the payment's trace, written only while traces are exported (OTEL_EXPORTER_OTLP_ENDPOINT).
  trace                  text,
  created_at             timestamptz not null default now(),
  expires_at             timestamptz not null,
  completed_at           timestamptz,
  -- When the provider was last asked because a customer came back or pressed "check": at most once in 3 seconds per
  -- payment.
  provider_asked_at      timestamptz,
  primary key (id, place),
  constraint mode_is_known check (mode in ('sandbox', 'live')),
  constraint status_is_known check (status in ('pending', 'successful', 'cancelled', 'expired')),
  constraint amount_in_range check (amount between 1 and 999999999999),
  constraint amount_paid_in_range check (amount_paid between 0 and 9007199254740991),
  constraint refunded_up_to_paid check (amount_refunded between 0 and amount_paid),
  constraint user_id_is_simple check (user_id ~ '^[A-Za-z0-9_.:@-]{1,64}$'),
  constraint key_has_digest check ((idempotency_key is null) = (request_digest is null))
);
create unique index payment_reference on payments (merchant_id, mode, reference, place);
create unique index payment_short_code on payments (short_code, place);
create unique index payment_idempotency_key on payments (merchant_id, mode, idempotency_key, place) where idempotency_key is not null;
-- For lists: all, by customer, and by what became of them (a payment enters this one only when it is finished).
create index payments_of_merchant on payments (merchant_id, mode, place, id);
create index payments_of_customer on payments (merchant_id, mode, lower(user_email), id, place);
create index payments_by_user on payments (merchant_id, mode, user_id, id, place) where user_id is not null;
create index payments_finished on payments (merchant_id, mode, status, place, id) where status <> 'pending';
-- An ordinary payment is in none of these.
create index payments_late on payments (merchant_id, mode, place, id) where late;
create index payments_of_link on payments (link_id, id, place) where link_id is not null;
create index payments_paid_by_link on payments (link_id, place) where link_id is not null and status = 'successful';
-- Most links to pay live for the same time, so this one too grows at its end.
create index payments_to_expire on payments (expires_at, place) where status = 'pending';

-- Answers of calls that carried an Idempotency-Key and do more than one statement. (A checkout keeps its key in its own
-- row.)
create table idempotent_calls (
  place          smallint not null,
  merchant_id    uuid not null,
  mode           text not null,
  endpoint       text not null,
  key            text collate "C" not null,
  digest         bytea not null,
  -- Chosen with the key, so that a repeat after a crash goes on with the same payment.
  reference      text not null,
  -- What it has begun: a repeat after a crash goes on with that.
  began          text,
  answer         jsonb,
  running_until  timestamptz not null,
  created_at     timestamptz not null default now(),
  primary key (merchant_id, mode, endpoint, key, place)
);
-- They are deleted after 48 hours.
create index idempotent_calls_by_age on idempotent_calls (created_at, place);

-- ---- Events ----

-- What happened to a payment, in the transaction that made it happen.
create table events (
  place        smallint not null,
  id           uuid not null,
  merchant_id  uuid not null,
  mode         text not null,
  payment_id   uuid not null,
  type         text not null,
  sequence     integer not null,
  data         jsonb not null,
  -- What set the change off (a notice, a check, the customer's return), for the timeline.
  cause        text,
  -- What is sent, byte for byte, for events that merchants are told of; null for the others.
  body         text,
  occurred_at  timestamptz not null default now(),
  primary key (id, place),
  unique (payment_id, sequence, place),
  foreign key (payment_id, place) references payments (id, place)
);
create index events_of_merchant on events (merchant_id, mode, place, id) where body is not null;
create index events_of_merchant_by_type on events (merchant_id, mode, type, place, id) where body is not null;
-- For the sums of the charts, which are made place by place in the order of ids. Place comes first, and no other
-- statement can use the index by mistake: only that one names these types.
create index events_to_sum_up on events (place, id)
  where type in ('payment.successful', 'payment.cancelled', 'payment.expired',
                 'attempt.started', 'attempt.successful', 'attempt.failed', 'attempt.abandoned');

-- Events are append-only, except that erasing a customer replaces the personal data in them, and that retention deletes
-- them with their payments: those of the sandbox, and of live payments after two years. See
-- docs/operations/retention.md.
create function refuse_to_rewrite_events() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and current_setting('manilla.erasing', true) = 'on'
     and (new.place, new.id, new.merchant_id, new.mode, new.payment_id, new.type, new.sequence, new.cause, new.occurred_at)
         is not distinct from
         (old.place, old.id, old.merchant_id, old.mode, old.payment_id, old.type, old.sequence, old.cause, old.occurred_at)
  then
    return new;
  end if;
  raise exception '% is append-only: what happened is not rewritten', tg_table_name;
end $$;

create trigger events_are_append_only before update on events
  for each row execute function refuse_to_rewrite_events();
create trigger events_are_kept before delete on events for each row
  when (current_setting('manilla.retention', true) is distinct from 'on'
        or old.mode <> 'sandbox' and old.occurred_at > now() - interval '730 days')
  execute function refuse_to_rewrite_events();

-- ---- Attempts ----

create table attempts (
  place                   smallint not null,
  id                      uuid not null,
  payment_id              uuid not null,
  merchant_id             uuid not null,
  mode                    text not null,
  number                  integer not null,
  reference               text collate "C" not null,
  provider                text not null,
  -- The version of the provider's keys that it was started with.
  account                 integer not null default 0,
  channel                 text not null,
  status                  text not null,
  currency                text not null,
  amount_charged          bigint not null,
  fee                     bigint not null,
  amount_received         bigint not null default 0,
  -- Of that: promised back or gone, for whatever reason; and gone, of what counts towards the payment.
  amount_returned         bigint not null default 0,
  amount_refunded         bigint not null default 0,
  -- Money that the provider had given back before we first saw it. It is part of amount_received and amount_returned,
  -- and never counts towards the payment.
  amount_reversed         bigint not null default 0,
  -- Made from the id before the provider is called, so that a repeat of a call is known as one.
  order_reference         text collate "C" not null,
  provider_reference      text collate "C" not null,
  -- The customer agreed, on our page or through the merchant, that the card be kept.
  save_card               boolean not null default false,
  -- A saved card was charged without a page: the customer has nothing to do.
  charged_at_once         boolean not null default false,
  -- Started on a page that was opened by client-id and reference alone. Where the customer returns to depends on it.
  by_reference            boolean not null default false,
  -- The provider has shown, in an answer or a notice, that it knows the order.
  known_to_provider       boolean not null default false,
  -- Surplus is refunded automatically only while the provider issued the ids of all transactions of the attempt.
  -- Otherwise a person decides about it.
  ids_are_providers       boolean not null default false,
  -- The idempotency key of the form that started it: a repeated submit finds its attempt and starts no second one.
  page_key                text collate "C",
  failure                 jsonb,
  failed_try_id           text,
  instructions            jsonb,
  instructions_expire_at  timestamptz,
  -- A notice with a valid signature said that it is paid. While the provider's own answer says otherwise, it is
  -- undecided.
  said_paid               boolean not null default false,
  needs_review            text,
  -- The reason that a person has reviewed: the same one is not raised again.
  reviewed                text,
  created_at              timestamptz not null default now(),
  -- When the provider was first asked: after the confirmation, if one is needed. Null: as soon as it was made.
  asked_at                timestamptz,
  resolved_at             timestamptz,

  -- When to ask the provider next; null when there is nothing left to ask.
  next_check_at           timestamptz,
  checks                  integer not null default 0,
  watched_since           timestamptz not null default now(),
  missing_in_a_row        integer not null default 0,
  check_leased_until      timestamptz not null default '-infinity',
  -- The last return of the customer or notice. Checks of an open link are frequent again from then on. Null: none yet.
  active_at               timestamptz,
  -- The last check that an unsigned notice scheduled, on the payment's first attempt: one a minute per payment.
  hinted_at               timestamptz,
  -- When to list the provider's refunds and disputes next; the daily listing ends at reconcile_until.
  reconcile_at            timestamptz,
  reconcile_until         timestamptz,

  primary key (id, place),
  unique (reference, place),
  unique (order_reference, place),
  unique (payment_id, number, place),
  foreign key (payment_id, place) references payments (id, place),
  constraint mode_is_known check (mode in ('sandbox', 'live')),
  constraint number_in_range check (number between 1 and 20),
  constraint channel_is_known check (channel in ('card', 'virtual-bank-account')),
  constraint status_is_known check (status in ('pending', 'processing', 'successful', 'failed', 'abandoned', 'surplus')),
  constraint amount_charged_in_range check (amount_charged between 1 and 9007199254740991),
  constraint fee_not_negative check (fee >= 0),
  constraint amount_received_in_range check (amount_received between 0 and 9007199254740991),
  constraint returned_up_to_received check (amount_returned between 0 and amount_received),
  constraint refunded_up_to_received check (amount_refunded between 0 and amount_received),
  constraint reversed_not_negative check (amount_reversed >= 0)
);
-- Whatever the code does, a payment succeeds once.
create unique index one_success_per_payment on attempts (payment_id, place) where status = 'successful';
create unique index one_attempt_per_submit on attempts (payment_id, page_key, place) where page_key is not null;
create index attempts_by_provider_reference on attempts (merchant_id, mode, provider, provider_reference, place);
-- For the decision whether retired keys can be deleted.
create index attempts_of_account on attempts (merchant_id, mode, provider, account, place, resolved_at) where account > 0;
-- For work that is due.
create index attempts_to_check on attempts (next_check_at, place) where next_check_at is not null;
create index attempts_to_reconcile on attempts (reconcile_at, place) where reconcile_at is not null;
-- For lists and the search of the dashboard. The attempt of an ordinary payment is in none of these.
create index attempts_to_review on attempts (merchant_id, mode, place, payment_id) where needs_review is not null;
create index attempts_by_failure on attempts (merchant_id, mode, (failure->>'code'), place, payment_id) where failure is not null;
create index attempts_by_provider_code on attempts (merchant_id, mode, (failure->>'providerCode'), place, payment_id)
  where failure->>'providerCode' is not null;
create index attempts_by_account_number on attempts (merchant_id, mode, (instructions->>'accountNumber'), place)
  where instructions->>'accountNumber' is not null;
-- They hold money beyond what is due: underpaid, overpaid, or surplus that could not be refunded.
create index attempts_holding on attempts (merchant_id, mode, place, id)
  where amount_received - amount_returned > case when status = 'successful' then amount_charged else 0 end;

-- Calls to providers, without secrets, for the timeline.
create table provider_calls (
  place       smallint not null,
  id          bigint generated always as identity,
  attempt_id  uuid not null,
  call        text not null,
  outcome     text not null,
  detail      text,
  took_ms     integer not null,
  at          timestamptz not null default now(),
  -- The same call with the same outcome again is one line.
  times       integer not null default 1,
  primary key (id, place),
  foreign key (attempt_id, place) references attempts (id, place)
);
create index provider_calls_of_attempt on provider_calls (attempt_id, id, place);

-- Notices of providers, sealed, because they may hold a card's token. Stored before they are answered, processed after.
create table notices (
  place        smallint not null,
  id           bigint generated always as identity,
  merchant_id  uuid not null,
  mode         text not null,
  provider     text not null,
  -- The account whose key signed it.
  account      integer not null default 0,
  digest       bytea not null,
  body         bytea not null,
  -- What the adapter read in it, signature checked. Not its headers: with some providers they hold the shared secret
  -- itself.
  reading      jsonb not null,
  reference    text,
  says         text not null,
  state        text not null default 'waiting' check (state in ('waiting', 'done', 'ignored', 'unmatched')),
  note         text,
  attempt_id   uuid,
  times        integer not null default 1,
  tries        integer not null default 0,
  due_at       timestamptz not null default now(),
  received_at  timestamptz not null default now(),
  primary key (id, place),
  unique (merchant_id, mode, provider, digest, place),
  foreign key (attempt_id, place) references attempts (id, place)
);
create index notices_of_attempt on notices (attempt_id, place) where attempt_id is not null;
create index notices_waiting on notices (due_at, place) where state = 'waiting';
-- A notice that came before its attempt knew the provider's reference is processed again with the answer that names it.
create index notices_unmatched_by_reference on notices (merchant_id, mode, provider, reference, place) where state = 'unmatched';
create index notices_unmatched_of_merchant on notices (merchant_id, mode, place, id) where state = 'unmatched';
create index notices_unmatched on notices (received_at, place) where state = 'unmatched';
-- Finished notices are deleted 90 days after they came.
create index notices_finished on notices (received_at, place) where state in ('done', 'ignored');

-- ---- Money ----

-- Money as the provider counts it: each of its transactions once, for one attempt, or for none that we know.
create table receipts (
  place           smallint not null,
  id              bigint generated always as identity,
  merchant_id     uuid not null,
  mode            text not null,
  provider        text not null,
  account         integer not null default 0,
  transaction_id  text collate "C" not null,
  attempt_id      uuid,
  payment_id      uuid,
  amount          bigint not null check (amount between 0 and 9007199254740991),
  currency        text not null,
  -- Counts towards the payment: not what came after it was paid, and not what came in another currency.
  counted         boolean not null,
  -- What the provider had given back of the transaction when it was recorded.
  returned        bigint not null default 0 check (returned >= 0),
  taken_at        timestamptz not null,
  recorded_at     timestamptz not null default now(),
  primary key (id, place),
  -- A transaction id is unique within one account of a provider only.
  constraint receipts_transaction unique (merchant_id, mode, provider, account, transaction_id, place),
  foreign key (attempt_id, place) references attempts (id, place),
  foreign key (payment_id, place) references payments (id, place)
);
-- Without unmatched money: PostgreSQL would search it here, and not in the indexes for it.
create index receipts_of_attempt on receipts (attempt_id, place) where attempt_id is not null;
create index receipts_of_payment on receipts (payment_id, place);
create index receipts_unmatched on receipts (recorded_at, place) where attempt_id is null;
create index receipts_unmatched_of_merchant on receipts (merchant_id, mode, place, id) where attempt_id is null;

create table refunds (
  place               smallint not null,
  id                  uuid not null,
  payment_id          uuid not null,
  attempt_id          uuid not null,
  merchant_id         uuid not null,
  mode                text not null,
  amount              bigint not null check (amount > 0),
  currency            text not null,
  -- surplus: money beyond the payment, sent back by ourselves. provider: made on the provider's side, told to us.
  kind                text not null check (kind in ('merchant', 'surplus', 'provider', 'chargeback')),
  status              text not null check (status in ('pending', 'successful', 'failed')),
  -- Of money that counts towards the payment: not what came beyond it.
  counted             boolean not null,
  reason              text,
  failure             text,
  -- Why a person has to look at a refund that did not finish in time; null when nobody has to.
  needs_review        text,
  -- Chosen with the Idempotency-Key of the call that asked for it.
  call_reference      text,
  provider_refund_id  text,
  transaction_ids     text[] not null default '{}',
  -- The customer's bank account that it goes to, for providers that need it. AES-256-GCM, with the refund as associated
  -- data. Null: none is needed, or the provider has it, or the refund has ended.
  sealed_account      bytea,
  -- When the provider took the bank account that it had waited for. The days in which it should finish the refund begin
  -- then.
  account_taken_at    timestamptz,
  tries               integer not null default 0,
  due_at              timestamptz,
  -- Only the process that holds the lease may ask the provider for it.
  lease               uuid,
  leased_until        timestamptz not null default '-infinity',
  created_at          timestamptz not null default now(),
  resolved_at         timestamptz,
  primary key (id, place),
  foreign key (payment_id, place) references payments (id, place),
  foreign key (attempt_id, place) references attempts (id, place)
);
create unique index refund_of_call on refunds (payment_id, call_reference, place) where call_reference is not null;
create unique index refund_of_provider on refunds (attempt_id, provider_refund_id, place) where provider_refund_id is not null;
-- Whether a refund that a provider lists for an order is on record for another payment.
create index refunds_by_provider_id on refunds (merchant_id, mode, provider_refund_id, place) where provider_refund_id is not null;
create index refunds_of_payment on refunds (payment_id, place);
create index refunds_of_attempt on refunds (attempt_id, place);
create index refunds_of_merchant on refunds (merchant_id, mode, place, id);
create index refunds_by_status on refunds (merchant_id, mode, status, place, id);
create index refunds_pending on refunds (merchant_id, mode, place) where status = 'pending';
create index refunds_due on refunds (due_at, place) where status = 'pending' and due_at is not null;

create table disputes (
  place                smallint not null,
  id                   uuid not null,
  payment_id           uuid not null,
  attempt_id           uuid not null,
  merchant_id          uuid not null,
  mode                 text not null check (mode in ('sandbox', 'live')),
  provider_dispute_id  text collate "C" not null,
  amount               bigint not null check (amount > 0),
  currency             text not null,
  status               text not null check (status in ('open', 'won', 'lost')),
  reason               text,
  respond_by           timestamptz,
  -- The refund row that counts the lost money, and the provider's own refund that settled the dispute: neither is
  -- counted twice.
  refund_id            uuid,
  settled_by           text collate "C",
  opened_at            timestamptz not null,
  resolved_at          timestamptz,
  created_at           timestamptz not null default now(),
  updated_at           timestamptz not null default now(),
  primary key (id, place),
  unique (attempt_id, provider_dispute_id, place),
  foreign key (payment_id, place) references payments (id, place),
  foreign key (attempt_id, place) references attempts (id, place),
  foreign key (refund_id, place) references refunds (id, place),
  constraint resolved_has_a_time check ((status = 'open') = (resolved_at is null))
);
create index disputes_of_payment on disputes (payment_id, place);
create index disputes_of_merchant on disputes (merchant_id, mode, place, id);
create index disputes_by_status on disputes (merchant_id, mode, status, place, id);
-- For the foreign key: without it, each deleted refund would read the whole table.
create index disputes_of_refund on disputes (refund_id, place) where refund_id is not null;

-- What people decided about money that does not add up, and about payments that need a review.
create table reviews (
  place        smallint not null,
  id           uuid not null,
  merchant_id  uuid not null,
  mode         text not null check (mode in ('sandbox', 'live')),
  kind         text not null check (kind in ('unmatched', 'underpaid', 'overpaid', 'surplus', 'late', 'payment')),
  act          text not null check (act in ('matched', 'returned', 'returned_by_hand', 'noted', 'reviewed')),
  -- An unmatched receipt, or an attempt and its payment; of a late payment, and of a reviewed one, the payment alone.
  receipt_id   bigint,
  attempt_id   uuid,
  payment_id   uuid,
  amount       bigint not null check (amount >= 0),
  currency     text not null,
  -- What the attempt had received. More money puts it on the list again.
  received     bigint,
  -- The return through the provider. If it fails, the money is on the list again.
  refund_id    uuid,
  note         text check (length(note) between 1 and 500),
  actor        text not null,
  at           timestamptz not null default now(),
  primary key (id, place),
  foreign key (receipt_id, place) references receipts (id, place),
  foreign key (attempt_id, place) references attempts (id, place),
  foreign key (payment_id, place) references payments (id, place),
  foreign key (refund_id, place) references refunds (id, place)
);
-- Of two people who act at the same time, one is first.
create unique index one_review_of_receipt on reviews (receipt_id, place) where receipt_id is not null;
create index reviews_of_payment on reviews (payment_id, place) where payment_id is not null;
create index reviews_of_attempt on reviews (attempt_id, place) where attempt_id is not null;
create index reviews_of_refund on reviews (refund_id, place) where refund_id is not null;
create index reviews_of_merchant on reviews (merchant_id, mode, place, id);

-- ---- Saved cards ----

create table saved_cards (
  place         smallint not null,
  id            uuid not null,
  merchant_id   uuid not null,
  mode          text not null,
  provider      text not null,
  -- A token works with the account that issued it only.
  account       integer not null default 0,
  user_id       text check (user_id ~ '^[A-Za-z0-9_.:@-]{1,64}$'),
  email         text not null,
  -- The customer whose card it is: the id, or the e-mail address of a card that was saved without one. The prefixes
  -- keep the two apart.
  customer      text not null generated always as (coalesce('id:' || user_id, 'email:' || lower(email))) stored,
  brand         text not null,
  last4         text not null,
  expiry_month  integer not null,
  expiry_year   integer not null,
  sealed_token  bytea not null,
  created_at    timestamptz not null default now(),
  used_at       timestamptz not null default now(),
  primary key (id, place)
);
-- The customer comes before the provider: the look-up by customer alone took 310 ms at a million rows without it.
create unique index saved_card
  on saved_cards (merchant_id, mode, customer, provider, brand, last4, expiry_month, expiry_year, account, place);
-- All saved cards of an address, also those of customers with an id of the merchant.
create index saved_cards_of_address on saved_cards (merchant_id, mode, lower(email), place);
create index saved_cards_by_last4 on saved_cards (merchant_id, mode, last4, place);

-- ---- Webhooks ----

create table webhook_endpoints (
  id                      uuid primary key,
  merchant_id             uuid not null references merchants,
  mode                    text not null check (mode in ('sandbox', 'live')),
  url                     text not null,
  events                  text[] not null, -- empty: all of them
  enabled                 boolean not null default true,
  disabled_reason         text,
  sealed_secret           bytea not null,
  sealed_previous_secret  bytea,
  previous_until          timestamptz,
  -- Since when it has only failed; null when its last answer was good.
  failing_since           timestamptz,
  -- Its deliveries are disabled in chunks by the worker, from this mark on.
  holds_deliveries        boolean not null default false,
  created_at              timestamptz not null default now(),
  deleted_at              timestamptz
);
create index webhook_endpoints_of_merchant on webhook_endpoints (merchant_id, mode) where deleted_at is null;
create index webhook_endpoints_holding on webhook_endpoints (id) where holds_deliveries;

-- For the `webhook` of a request: one secret per merchant and mode.
create table webhook_secrets (
  merchant_id             uuid not null references merchants,
  mode                    text not null check (mode in ('sandbox', 'live')),
  sealed_secret           bytea not null,
  sealed_previous_secret  bytea,
  previous_until          timestamptz,
  primary key (merchant_id, mode)
);

-- The queue and the log in one: what waits, what was delivered, and what was given up, until it is ninety days old.
create table deliveries (
  place         smallint not null,
  id            uuid not null,
  event_id      uuid not null,
  merchant_id   uuid not null,
  mode          text not null,
  endpoint_id   uuid,
  url           text not null,
  -- The unit of pacing: an endpoint, or a merchant's host. Two merchants never have the same.
  destination   text collate "C" not null,
  state         text not null default 'waiting' check (state in ('waiting', 'delivered', 'exhausted', 'disabled')),
  tries         integer not null default 0,
  -- Tries before it was last sent again on request: the waits begin anew.
  tries_before  integer not null default 0,
  due_at        timestamptz not null default now(),
  created_at    timestamptz not null default now(),
  done_at       timestamptz,
  primary key (id, place),
  foreign key (event_id, place) references events (id, place)
);
create index deliveries_of_event on deliveries (event_id, place);
create index deliveries_waiting on deliveries (destination, due_at, place) where state = 'waiting';
-- First tries, and deliveries that a merchant asked to send again. A failed try leaves this index, so that hosts that
-- wait for a retry cost nothing here. The search goes from merchant to merchant, over all places.
create index deliveries_first_tries_of_merchant on deliveries (merchant_id, destination, place)
  where state = 'waiting' and tries = tries_before;
-- With the id: a page is read in the order of the index.
create index deliveries_given_up_by_time on deliveries (merchant_id, mode, place, created_at, id) where state in ('exhausted', 'disabled');
create index deliveries_done on deliveries (done_at, place) where done_at is not null;

create table delivery_tries (
  place        smallint not null,
  delivery_id  uuid not null,
  number       integer not null,
  at           timestamptz not null default now(),
  status       integer,
  error        text,
  took_ms      integer not null,
  answer       text not null default '',
  primary key (delivery_id, number, place),
  foreign key (delivery_id, place) references deliveries (id, place) on delete cascade
);

-- One row for each destination that waits for a retry, however many deliveries wait there.
create table delivery_retries (
  place        smallint not null,
  destination  text collate "C" not null,
  merchant_id  uuid not null,
  mode         text not null,
  -- Whether it is the host of a request's `webhook`: their number is limited for each merchant and mode.
  is_host      boolean not null,
  -- When the earliest of its deliveries is due, or when the lease of the process that claimed it ends.
  next_due_at  timestamptz not null,
  primary key (destination, place)
);
-- The search goes from merchant to merchant, over all places.
create index delivery_retries_of_merchant on delivery_retries (merchant_id, next_due_at, place);
create index delivery_retries_hosts on delivery_retries (merchant_id, mode, place) where is_host;

-- The lease of a process on a destination: it alone counts what is in flight there. Deliveries are only written when
-- they are done.
create table delivery_leases (
  place        smallint not null,
  destination  text collate "C" not null,
  owner        uuid not null,
  owned_until  timestamptz not null,
  primary key (destination, place)
);

-- Processes that send webhooks. Each renews its row every second, so that the leases of a process that was killed can
-- be released before they end by themselves.
create table delivery_workers (
  id           uuid primary key,
  -- Since when it has renewed without a gap.
  alive_since  timestamptz not null,
  alive_until  timestamptz not null
);

-- ---- Sums for charts ---- A job folds new payments and events into hourly sums, and whole days into daily ones:
-- docs/decisions/0017-rollups.md. Place comes first in both keys, because the sums of a place are audited and made
-- again as one. No statement can take them for another index: there is none.

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

-- Of whole days (UTC), for charts of months.
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

create table rollup_cursors (
  place      smallint primary key,
  -- Payments and events with ids up to this one are in the rollups.
  folded_to  uuid not null,
  -- Days before this one are in daily_rollups. Null: none.
  days_to    timestamptz
);

-- ---- The sandbox provider ---- Its books. It stands on the other side of the port: nothing here refers to our own
-- tables, and nothing of ours refers to these. No card number is kept, only which of the test cards it was. Its places
-- are its own: they are made from the merchant's id.

-- Account numbers come one after the other, so they are unique and their index grows at its end.
create sequence gateway_account_numbers as bigint start 9000000001 maxvalue 9999999999;

-- Cards that customers agreed to keep. The token starts with the time, then 128 random bits.
create table gateway_cards (
  place         smallint not null,
  token         text collate "C" not null,
  merchant_id   uuid not null,
  behaviour     text not null,
  brand         text not null,
  last4         text not null check (last4 ~ '^[0-9]{4}$'),
  expiry_month  integer not null check (expiry_month between 1 and 12),
  expiry_year   integer not null check (expiry_year between 2000 and 2999),
  created_at    timestamptz not null default now(),
  primary key (token, place)
);

create table gateway_payments (
  place            smallint not null,
  id               bigint generated always as identity,
  merchant_id      uuid not null,
  reference        text collate "C" not null,
  request_digest   bytea not null,
  channel          text not null check (channel in ('card', 'transfer')),
  requested        bigint not null check (requested between 1 and 1000000000000000),
  currency         text not null,
  taken            bigint not null default 0 check (taken between 0 and 9007199254740991),
  refunded         bigint not null default 0 check (refunded between 0 and taken),
  email            text not null,
  name             text,
  merchant_name    text not null,
  return_url       text not null,
  -- The secret in the address of the card page.
  page_token       text collate "C",
  account_number   text collate "C",
  -- The card that this payment was opened with, the one that a code is awaited for, and the one that the customer
  -- agreed to keep.
  offered_card     text collate "C",
  awaiting_code    jsonb,
  kept_card        text collate "C",
  expires_at       timestamptz not null,
  cancelled_at     timestamptz,
  created_at       timestamptz not null default now(),
  primary key (id, place),
  foreign key (offered_card, place) references gateway_cards (token, place),
  foreign key (kept_card, place) references gateway_cards (token, place),
  constraint a_page_or_an_account
    check ((page_token is not null) = (channel = 'card') and (account_number is not null) = (channel = 'transfer'))
);
create unique index gateway_payment_reference on gateway_payments (merchant_id, reference, place);
create unique index gateway_payment_page on gateway_payments (page_token, place) where page_token is not null;
create unique index gateway_payment_account on gateway_payments (account_number, place) where account_number is not null;
create index gateway_payments_of_merchant on gateway_payments (merchant_id, place, id);
-- For retention, the oldest first.
create index gateway_payments_by_age on gateway_payments (created_at, place);

-- Every movement of money, and every try at one. Rows are only ever added.
create table gateway_transactions (
  place             smallint not null,
  id                bigint generated always as identity,
  payment_id        bigint not null,
  merchant_id       uuid not null,
  kind              text not null check (kind in ('charge', 'transfer', 'refund', 'dispute', 'reinstatement')),
  status            text not null check (status in ('paid', 'failed')),
  amount            bigint not null check (amount between 1 and 9007199254740991),
  currency          text not null,
  failure_code      text,
  refund_reference  text collate "C",
  -- A refund that was made in the dashboard, not by a call to the API.
  by_hand           boolean not null default false,
  -- Until then the provider itself says "processing", though the money has moved.
  settles_at        timestamptz,
  at                timestamptz not null default clock_timestamp(),
  primary key (id, place),
  foreign key (payment_id, place) references gateway_payments (id, place),
  constraint failed_has_a_reason check ((status = 'failed') = (failure_code is not null)),
  constraint refund_has_a_reference check ((kind = 'refund') = (refund_reference is not null))
);
create unique index gateway_refund_reference on gateway_transactions (merchant_id, refund_reference, place) where kind = 'refund';
-- Whatever the code does: a card payment is charged once.
create unique index gateway_one_paid_charge on gateway_transactions (payment_id, place) where kind = 'charge' and status = 'paid';
create index gateway_transactions_of_payment on gateway_transactions (payment_id, id, place);
create index gateway_transactions_taken on gateway_transactions (merchant_id, place, at, id)
  where kind in ('charge', 'transfer') and status = 'paid';

create table gateway_disputes (
  place        smallint not null,
  id           bigint generated always as identity,
  payment_id   bigint not null,
  merchant_id  uuid not null,
  amount       bigint not null check (amount > 0),
  currency     text not null,
  status       text not null default 'open' check (status in ('open', 'won', 'lost')),
  reason       text not null,
  respond_by   timestamptz not null,
  opened_at    timestamptz not null default clock_timestamp(),
  -- Losing it took money. False when a refund had given the same money back.
  moved        boolean not null default false,
  settled_by   bigint,
  primary key (id, place),
  foreign key (payment_id, place) references gateway_payments (id, place),
  foreign key (settled_by, place) references gateway_transactions (id, place)
);
create index gateway_disputes_of_payment on gateway_disputes (payment_id, id, place);
-- For the foreign key.
create index gateway_disputes_settled_by on gateway_disputes (settled_by, place) where settled_by is not null;

-- Notices to be sent, in the very bytes of every try. due_at is also the lease: the process that claims a notice moves
-- it ahead.
create table gateway_notices (
  place        smallint not null,
  id           bigint generated always as identity,
  merchant_id  uuid not null,
  body         text not null,
  state        text not null default 'waiting' check (state in ('waiting', 'sent', 'lost', 'given_up')),
  tries        integer not null default 0,
  due_at       timestamptz not null,
  created_at   timestamptz not null default now(),
  primary key (id, place)
);
create index gateway_notices_waiting on gateway_notices (due_at, place) where state = 'waiting';
-- For retention, the oldest first.
create index gateway_notices_by_age on gateway_notices (created_at, place) where state <> 'waiting';

-- How badly the provider behaves, for each merchant that asked for it.
create table gateway_faults (
  merchant_id   uuid primary key,
  seed          bigint not null,
  timeout       double precision not null check (timeout between 0 and 1),
  server_error  double precision not null check (server_error between 0 and 1),
  lost          double precision not null check (lost between 0 and 1),
  doubled       double precision not null check (doubled between 0 and 1),
  reordered     double precision not null check (reordered between 0 and 1),
  late          double precision not null check (late between 0 and 1),
  wrong_amount  double precision not null check (wrong_amount between 0 and 1),
  set_at        timestamptz not null default clock_timestamp()
);

-- ---- Statistics ---- None about place: a merchant that has grown since the last ANALYZE would be estimated at one
-- row. Without them, each place is estimated at 0.5 % of its table.

do $$
declare growing regclass;
begin
  for growing in
    select attrelid::regclass from pg_attribute join pg_class on pg_class.oid = attrelid
     where attname = 'place' and relkind = 'r' and relname <> 'merchants' and relnamespace = current_schema()::regnamespace
  loop
    execute format('alter table %s alter column place set statistics 0', growing);
  end loop;
end $$;
