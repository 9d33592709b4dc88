-- The whole schema. Two kinds of tables:
--
-- Reference tables are small: merchants and what they set up. A cluster has a copy on every machine.
-- Growing tables have the `place` of their merchant. Every primary key, unique index and foreign key of theirs starts with it, so that a
-- cluster can distribute them by place. An index that finds due work by time does not start with it. test/place.test.ts checks this.
--
-- Ids, codes and generated references start with the time, so every index grows at its ends or is partial.

-- ---- Merchants ----

create table merchants (
  id                    uuid primary key,
  -- Chosen at random when the merchant is made, and never changed: the ids of its payments contain it.
  place                 smallint not null check (place between 0 and 1023),
  name                  text not null check (length(name) between 1 and 200),
  country               text not null check (country ~ '^[A-Z]{2}$'),
  status                text not null default 'active' check (status in ('active', 'suspended')),
  created_at            timestamptz not null default now(),

  -- The payment page, in both modes.
  colour                text check (colour ~ '^#[0-9a-f]{6}$'),
  corners               text not null default 'rounded' check (corners in ('square', 'rounded', 'pill')),
  -- Null: the customer's own.
  language              text check (language in ('en', 'fr', 'ar')),
  -- Null: only when the customer presses the button.
  return_after_seconds  integer default 5 check (return_after_seconds between 0 and 60),
  -- Sites that may show the page in a frame. They are sent in a header, so nothing may be in them that a header understands.
  origins               text[] not null default '{}' check (
    cardinality(origins) <= 20 and array_position(origins, null) is null
    and array_to_string(origins, ',') ~ '^(https?://[a-z0-9.:*-]+(,https?://[a-z0-9.:*-]+)*)?$'),
  -- Whether a reference opens the widget, or a token that the merchant's server asked for must come with it.
  widget                text not null default 'open' check (widget in ('open', 'strict'))
);

-- A table of its own, so that a list of merchants stays light.
create table merchant_logos (
  merchant_id  uuid primary key references merchants,
  version      text not null check (version ~ '^[0-9a-f]{16}$'),
  type         text not null check (type in ('image/png', 'image/jpeg', 'image/webp')),
  bytes        bytea not null check (octet_length(bytes) between 1 and 10240)
);

-- The secret itself is shown once and never stored: it is 256 random bits, so a plain SHA-256 cannot be guessed back.
create table credentials (
  client_id      text primary key,
  merchant_id    uuid not null references merchants,
  mode           text not null check (mode in ('sandbox', 'live')),
  secret_digest  bytea not null check (length(secret_digest) = 32),
  created_at     timestamptz not null default now(),
  revoked_at     timestamptz,
  -- To the minute: enough to see whether an old credential may be revoked.
  last_used_at   timestamptz
);
create index credentials_of_merchant on credentials (merchant_id);

-- Every privileged act, written in the transaction that does it.
create table audit_log (
  place        smallint not null,
  id           bigint generated always as identity,
  at           timestamptz not null default now(),
  actor        text not null,
  act          text not null,
  merchant_id  uuid,
  subject      text not null,
  primary key (place, id)
);

-- A trigger for each row: those for each statement do nothing on the shards of a cluster.
create function refuse_to_rewrite_history() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: what happened is not rewritten', tg_table_name;
end $$;

create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function refuse_to_rewrite_history();

-- Which SECRET_KEY sealed what is stored: a wrong one is noticed at the start, not at the first payment.
create table secret_keys (
  key_id   text primary key,
  canary   bytea not null
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

-- The keys of a provider are versioned. An attempt keeps the version that it was started with, so that checks, notices and refunds of
-- it reach the same provider account after the merchant has set other keys.
create table provider_accounts (
  merchant_id      uuid not null references merchants,
  mode             text not null check (mode in ('sandbox', 'live')),
  provider         text not null,
  version          integer not null check (version > 0),
  -- AES-256-GCM, with merchant, mode and provider as associated data. Null: deleted after the account was out of use for long enough.
  -- The row stays, so that its version number is never used again.
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

-- ---- Payments ----

create table payments (
  place                  smallint not null,
  id                     uuid not null,
  merchant_id            uuid not null, -- no foreign key: each insert would lock the merchant's row, and merchants are never deleted
  mode                   text not null check (mode in ('sandbox', 'live')),
  reference              text collate "C" not null,
  short_code             text collate "C" not null,
  status                 text not null default 'pending' check (status in ('pending', 'successful', 'cancelled', 'expired')),
  -- Paid after it was cancelled or had expired.
  late                   boolean not null default false,
  amount                 bigint not null check (amount between 1 and 999999999999),
  currency               text not null,
  country                text not null,
  customer_bears_charge  boolean not null,
  amount_paid            bigint not null default 0 check (amount_paid between 0 and 9007199254740991),
  amount_refunded        bigint not null default 0 check (amount_refunded between 0 and amount_paid),
  -- The merchant's own id of a customer who is signed in there. Saved cards belong to it: an e-mail address that was typed proves nothing.
  user_id                text check (user_id ~ '^[A-Za-z0-9_.:@-]{1,64}$'),
  user_email             text not null,
  user_phone_number      text,
  user_name              text,
  redirect_url           text,
  webhook_url            text,
  metadata               jsonb not null,
  idempotency_key        text collate "C",
  request_digest         bytea,
  sequence               integer not null default 0,
  -- Optimistic concurrency control: a decision is written only if the payment still has the version that it was made on.
  version                bigint not null default 0,
  created_at             timestamptz not null default now(),
  expires_at             timestamptz not null,
  completed_at           timestamptz,
  -- When the provider was last asked because a customer came back or pressed "check": at most once in 3 seconds per payment.
  provider_asked_at      timestamptz,
  primary key (place, id),
  constraint key_has_digest check ((idempotency_key is null) = (request_digest is null))
);

create unique index payment_reference on payments (place, merchant_id, mode, reference);
create unique index payment_short_code on payments (place, short_code);
-- The key stays with the payment that it made, so both are written by one statement and neither can be there alone.
create unique index payment_idempotency_key on payments (place, merchant_id, mode, idempotency_key) where idempotency_key is not null;
-- For lists: all, by customer, and by what became of them (a payment enters this one only when it is finished).
create index payments_of_merchant on payments (place, merchant_id, mode, id);
-- Place is last here: as the first column it lets the planner read the whole place by this index instead of one payment by its key.
create index payments_of_customer on payments (merchant_id, mode, lower(user_email), id, place);
create index payments_by_user on payments (place, merchant_id, mode, user_id, id) where user_id is not null;
create index payments_finished on payments (place, merchant_id, mode, status, id) where status <> 'pending';
-- Most links live for the same time, so this one too grows at its end.
create index payments_to_expire on payments (expires_at, place) where status = 'pending';

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
  primary key (place, id),
  unique (place, payment_id, sequence),
  foreign key (place, payment_id) references payments (place, id)
);
create index events_of_merchant on events (place, merchant_id, mode, id) where body is not null;
create index events_of_merchant_by_type on events (place, merchant_id, mode, type, id) where body is not null;

create trigger events_are_append_only before update or delete on events
  for each row execute function refuse_to_rewrite_history();

-- Answers of calls that carried an Idempotency-Key and do more than one statement. (A checkout keeps its key in its own row.)
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
  primary key (place, merchant_id, mode, endpoint, key)
);
-- They are deleted after 48 hours.
create index idempotent_calls_by_age on idempotent_calls (created_at, place);

-- ---- Attempts ----

create table attempts (
  place                   smallint not null,
  id                      uuid not null,
  payment_id              uuid not null,
  merchant_id             uuid not null,
  mode                    text not null check (mode in ('sandbox', 'live')),
  number                  integer not null check (number between 1 and 20),
  reference               text collate "C" not null,
  provider                text not null,
  -- The version of the provider's keys that it was started with.
  account                 integer not null default 0,
  channel                 text not null check (channel in ('card', 'virtual-bank-account')),
  status                  text not null
                          check (status in ('pending', 'processing', 'successful', 'failed', 'abandoned', 'surplus')),
  currency                text not null,
  amount_charged          bigint not null check (amount_charged between 1 and 9007199254740991),
  fee                     bigint not null check (fee >= 0),
  amount_received         bigint not null default 0 check (amount_received between 0 and 9007199254740991),
  -- Of that: promised back or gone, for whatever reason; and gone, of what counts towards the payment.
  amount_returned         bigint not null default 0 check (amount_returned between 0 and amount_received),
  amount_refunded         bigint not null default 0 check (amount_refunded between 0 and amount_received),
  -- Money that the provider had given back before we first saw it. It is part of amount_received and amount_returned, and never counts
  -- towards the payment.
  amount_reversed         bigint not null default 0 check (amount_reversed >= 0),
  -- Made from the id before the provider is called, so that a repeat of a call is known as one.
  order_reference         text collate "C" not null,
  provider_reference      text collate "C" not null,
  -- The customer agreed, on our page or through the merchant, that the card be kept.
  save_card               boolean not null default false,
  -- A saved card was charged without a page: the customer has nothing to do.
  charged_at_once         boolean not null default false,
  -- The provider has shown, in an answer or a notice, that it knows the order.
  known_to_provider       boolean not null default false,
  -- The idempotency key of the form that started it: a repeated submit finds its attempt and starts no second one.
  page_key                text collate "C",
  failure                 jsonb,
  failed_try_id           text,
  instructions            jsonb,
  instructions_expire_at  timestamptz,
  -- A notice with a valid signature said that it is paid. While the provider's own answer says otherwise, it is undecided.
  said_paid               boolean not null default false,
  needs_review            text,
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

  primary key (place, id),
  unique (place, reference),
  unique (place, order_reference),
  unique (place, payment_id, number),
  foreign key (place, payment_id) references payments (place, id)
);

-- Whatever the code does, a payment succeeds once.
create unique index one_success_per_payment on attempts (place, payment_id) where status = 'successful';
create unique index one_attempt_per_submit on attempts (place, payment_id, page_key) where page_key is not null;
create index attempts_by_provider_reference on attempts (place, merchant_id, mode, provider, provider_reference);
-- For the decision whether retired keys can be deleted.
create index attempts_of_account on attempts (place, merchant_id, mode, provider, account, resolved_at) where account > 0;
create index attempts_to_check on attempts (next_check_at, place) where next_check_at is not null;
create index attempts_to_reconcile on attempts (reconcile_at, place) where reconcile_at is not null;

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
  primary key (place, id),
  foreign key (place, attempt_id) references attempts (place, id)
);
create index provider_calls_of_attempt on provider_calls (place, attempt_id, id);

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
  primary key (place, id),
  -- A transaction id is unique within one account of a provider only.
  constraint receipts_transaction unique (place, merchant_id, mode, provider, account, transaction_id),
  foreign key (place, attempt_id) references attempts (place, id),
  foreign key (place, payment_id) references payments (place, id)
);
create index receipts_of_attempt on receipts (place, attempt_id);
create index receipts_of_payment on receipts (place, payment_id);
create index receipts_unmatched on receipts (recorded_at, place) where attempt_id is null;

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
  -- What the adapter read in it, signature checked. Not its headers: with some providers they hold the shared secret itself.
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
  primary key (place, id),
  unique (place, merchant_id, mode, provider, digest),
  foreign key (place, attempt_id) references attempts (place, id)
);
create index notices_of_attempt on notices (place, attempt_id) where attempt_id is not null;
-- A notice that came before its attempt knew the provider's reference is processed again with the answer that names it.
create index notices_unmatched_by_reference on notices (place, merchant_id, mode, provider, reference) where state = 'unmatched';
create index notices_waiting on notices (due_at, place) where state = 'waiting';
create index notices_unmatched on notices (received_at, place) where state = 'unmatched';
-- Finished notices are deleted 90 days after they came.
create index notices_finished on notices (received_at, place) where state in ('done', 'ignored');

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
  -- The customer whose card it is: the id, or the e-mail address of a card that was saved without one. The prefixes keep the two apart.
  customer      text not null generated always as (coalesce('id:' || user_id, 'email:' || lower(email))) stored,
  brand         text not null,
  last4         text not null,
  expiry_month  integer not null,
  expiry_year   integer not null,
  sealed_token  bytea not null,
  created_at    timestamptz not null default now(),
  used_at       timestamptz not null default now(),
  primary key (place, id)
);
-- The customer comes before the provider: the look-up by customer alone took 310 ms at a million rows without it.
create unique index saved_card
  on saved_cards (place, merchant_id, mode, customer, provider, brand, last4, expiry_month, expiry_year, account);

-- ---- Refunds and disputes ----

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
  tries               integer not null default 0,
  due_at              timestamptz,
  -- Only the process that holds the lease may ask the provider for it.
  lease               uuid,
  leased_until        timestamptz not null default '-infinity',
  created_at          timestamptz not null default now(),
  resolved_at         timestamptz,
  primary key (place, id),
  foreign key (place, payment_id) references payments (place, id),
  foreign key (place, attempt_id) references attempts (place, id)
);
create unique index refund_of_call on refunds (place, payment_id, call_reference) where call_reference is not null;
create unique index refund_of_provider on refunds (place, attempt_id, provider_refund_id) where provider_refund_id is not null;
create index refunds_of_payment on refunds (place, payment_id);
create index refunds_of_attempt on refunds (place, attempt_id);
create index refunds_pending on refunds (place, merchant_id, mode) where status = 'pending';
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
  -- The refund row that counts the lost money, and the provider's own refund that settled the dispute: neither is counted twice.
  refund_id            uuid,
  settled_by           text collate "C",
  opened_at            timestamptz not null,
  resolved_at          timestamptz,
  created_at           timestamptz not null default now(),
  updated_at           timestamptz not null default now(),
  primary key (place, id),
  unique (place, attempt_id, provider_dispute_id),
  foreign key (place, payment_id) references payments (place, id),
  foreign key (place, attempt_id) references attempts (place, id),
  foreign key (place, refund_id) references refunds (place, id),
  constraint resolved_has_a_time check ((status = 'open') = (resolved_at is null))
);
create index disputes_of_payment on disputes (place, payment_id);
create index disputes_of_merchant on disputes (place, merchant_id, mode, id);
create index disputes_by_status on disputes (place, merchant_id, mode, status, id);

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

-- The queue and the log in one: what waits, what was delivered, and what was given up, until it is thirty days old.
create table deliveries (
  place         smallint not null,
  id            uuid not null,
  event_id      uuid not null,
  merchant_id   uuid not null,
  mode          text not null,
  endpoint_id   uuid,
  url           text not null,
  -- The unit of pacing: an endpoint, or a merchant's host.
  destination   text collate "C" not null,
  state         text not null default 'waiting' check (state in ('waiting', 'delivered', 'exhausted', 'disabled')),
  tries         integer not null default 0,
  -- Tries before it was last sent again on request: the waits begin anew.
  tries_before  integer not null default 0,
  due_at        timestamptz not null default now(),
  created_at    timestamptz not null default now(),
  done_at       timestamptz,
  primary key (place, id),
  foreign key (place, event_id) references events (place, id)
);
create index deliveries_of_event on deliveries (place, event_id);
create index deliveries_waiting on deliveries (place, destination, due_at) where state = 'waiting';
-- First tries, and deliveries that a merchant asked to send again. A failed try leaves this index, so that hosts that wait for a retry cost
-- nothing here.
create index deliveries_first_tries on deliveries (place, merchant_id, destination) where state = 'waiting' and tries = tries_before;
create index deliveries_given_up on deliveries (place, merchant_id, mode, created_at) where state in ('exhausted', 'disabled');
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
  primary key (place, delivery_id, number),
  foreign key (place, delivery_id) references deliveries (place, id) on delete cascade
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
  primary key (place, destination)
);
create index delivery_retries_due on delivery_retries (place, merchant_id, next_due_at);
create index delivery_retries_hosts on delivery_retries (place, merchant_id, mode) where is_host;

-- The lease of a process on a destination: it alone counts what is in flight there. Deliveries are only written when they are done.
create table delivery_leases (
  place        smallint not null,
  destination  text collate "C" not null,
  owner        uuid not null,
  owned_until  timestamptz not null,
  primary key (place, destination)
);

-- Processes that send webhooks. Each renews its row every second, so that the leases of a process that was killed can be released before
-- they end by themselves.
create table delivery_workers (
  id           uuid primary key,
  -- Since when it has renewed without a gap.
  alive_since  timestamptz not null,
  alive_until  timestamptz not null
);

-- ---- The sandbox provider ----
-- Its books. It stands on the other side of the port: nothing here refers to our own tables, and nothing of ours refers to these. No card
-- number is kept, only which of the test cards it was. Its places are its own: they are made from the merchant's id.

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
  primary key (place, token)
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
  -- The card that this payment was opened with, the one that a code is awaited for, and the one that the customer agreed to keep.
  offered_card     text collate "C",
  awaiting_code    jsonb,
  kept_card        text collate "C",
  expires_at       timestamptz not null,
  cancelled_at     timestamptz,
  created_at       timestamptz not null default now(),
  primary key (place, id),
  foreign key (place, offered_card) references gateway_cards (place, token),
  foreign key (place, kept_card) references gateway_cards (place, token),
  constraint a_page_or_an_account
    check ((page_token is not null) = (channel = 'card') and (account_number is not null) = (channel = 'transfer'))
);
create unique index gateway_payment_reference on gateway_payments (place, merchant_id, reference);
create unique index gateway_payment_page on gateway_payments (place, page_token) where page_token is not null;
create unique index gateway_payment_account on gateway_payments (place, account_number) where account_number is not null;
create index gateway_payments_of_merchant on gateway_payments (place, merchant_id, id);

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
  primary key (place, id),
  foreign key (place, payment_id) references gateway_payments (place, id),
  constraint failed_has_a_reason check ((status = 'failed') = (failure_code is not null)),
  constraint refund_has_a_reference check ((kind = 'refund') = (refund_reference is not null))
);
create unique index gateway_refund_reference on gateway_transactions (place, merchant_id, refund_reference) where kind = 'refund';
-- Whatever the code does: a card payment is charged once.
create unique index gateway_one_paid_charge on gateway_transactions (place, payment_id) where kind = 'charge' and status = 'paid';
create index gateway_transactions_of_payment on gateway_transactions (place, payment_id, id);
create index gateway_transactions_taken on gateway_transactions (place, merchant_id, at, id)
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
  primary key (place, id),
  foreign key (place, payment_id) references gateway_payments (place, id),
  foreign key (place, settled_by) references gateway_transactions (place, id)
);
create index gateway_disputes_of_payment on gateway_disputes (place, payment_id, id);

-- Notices to be sent, in the very bytes of every try. due_at is also the lease: the process that claims a notice moves it ahead.
create table gateway_notices (
  place        smallint not null,
  id           bigint generated always as identity,
  merchant_id  uuid not null,
  body         text not null,
  state        text not null default 'waiting' check (state in ('waiting', 'sent', 'lost', 'given_up')),
  tries        integer not null default 0,
  due_at       timestamptz not null,
  created_at   timestamptz not null default now(),
  primary key (place, id)
);
create index gateway_notices_waiting on gateway_notices (due_at, place) where state = 'waiting';

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

-- ---- Statistics ----
-- None about place: a merchant that has grown since the last ANALYZE would be estimated at one row, and an index would be read for the
-- whole place instead of for one id. Without them, each place is estimated at 0.5 % of its table.

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
