-- Tries at paying a payment, the money that came in, and what went back.

create table attempts (
  id                    uuid primary key,
  payment_id            uuid not null references payments,
  merchant_id           uuid not null,
  mode                  text not null check (mode in ('sandbox', 'live')),
  number                integer not null check (number between 1 and 20),
  reference             text collate "C" not null unique,
  provider              text not null,
  channel               text not null check (channel in ('card', 'virtual-bank-account')),
  status                text not null
                        check (status in ('pending', 'processing', 'successful', 'failed', 'abandoned', 'surplus')),
  currency              text not null,
  amount_charged        bigint not null check (amount_charged between 1 and 9007199254740991),
  fee                   bigint not null check (fee >= 0),
  amount_received       bigint not null default 0 check (amount_received between 0 and 9007199254740991),
  -- Of that: promised back or gone, for whatever reason; and gone, of what counts towards the payment.
  amount_returned       bigint not null default 0 check (amount_returned between 0 and amount_received),
  amount_refunded       bigint not null default 0 check (amount_refunded between 0 and amount_received),
  -- Made from the id before the provider is called, so that a repeat of a call is known as one.
  order_reference       text collate "C" not null unique,
  provider_reference    text collate "C" not null,
  failure               jsonb,
  failed_try_id         text,
  instructions          jsonb,
  instructions_expire_at timestamptz,
  -- A notice with a valid signature said that it is paid. While the provider's own answer says otherwise, nobody decides.
  said_paid             boolean not null default false,
  needs_review          text,
  created_at            timestamptz not null default now(),
  resolved_at           timestamptz,

  -- When to ask the provider next; null when there is nothing left to ask.
  next_check_at         timestamptz,
  checks                integer not null default 0,
  watched_since         timestamptz not null default now(),
  missing_in_a_row      integer not null default 0,
  check_leased_until    timestamptz not null default '-infinity',

  unique (payment_id, number)
);

-- The promise that everything else rests on: whatever the code does, a payment succeeds once.
create unique index one_success_per_payment on attempts (payment_id) where status = 'successful';
create index attempts_to_check on attempts (next_check_at) where next_check_at is not null;
create index attempts_by_provider_reference on attempts (merchant_id, mode, provider, provider_reference);

-- Money as the provider counts it: each of its transactions once, for one attempt, or for none that we know.
create table receipts (
  id              bigint generated always as identity primary key,
  merchant_id     uuid not null,
  mode            text not null,
  provider        text not null,
  transaction_id  text collate "C" not null,
  attempt_id      uuid references attempts,
  payment_id      uuid references payments,
  amount          bigint not null check (amount between 0 and 9007199254740991),
  currency        text not null,
  -- Counts towards the payment: not what came after it was paid, and not what came in another currency.
  counted         boolean not null,
  taken_at        timestamptz not null,
  recorded_at     timestamptz not null default now(),
  unique (merchant_id, mode, provider, transaction_id)
);
create index receipts_of_attempt on receipts (attempt_id);
create index receipts_unmatched on receipts (recorded_at) where attempt_id is null;

-- What providers told us, sealed, for it may hold a card's token. Kept before it is answered, worked off after.
create table notices (
  id            bigint generated always as identity primary key,
  merchant_id   uuid not null,
  mode          text not null,
  provider      text not null,
  digest        bytea not null,
  body          bytea not null,
  -- What the adapter read in it, signature checked. Not its headers: with some providers they hold the shared secret itself.
  reading       jsonb not null,
  reference     text,
  says          text not null,
  state         text not null default 'waiting' check (state in ('waiting', 'done', 'ignored', 'unmatched')),
  note          text,
  attempt_id    uuid references attempts,
  times         integer not null default 1,
  tries         integer not null default 0,
  due_at        timestamptz not null default now(),
  received_at   timestamptz not null default now(),
  unique (merchant_id, mode, provider, digest)
);
create index notices_waiting on notices (due_at) where state = 'waiting';
create index notices_unmatched on notices (received_at) where state = 'unmatched';
create index notices_of_attempt on notices (attempt_id) where attempt_id is not null;

create table saved_cards (
  id            uuid primary key,
  merchant_id   uuid not null,
  mode          text not null,
  provider      text not null,
  email         text not null,
  brand         text not null,
  last4         text not null,
  expiry_month  integer not null,
  expiry_year   integer not null,
  sealed_token  bytea not null,
  created_at    timestamptz not null default now(),
  used_at       timestamptz not null default now()
);
create unique index saved_card on saved_cards (merchant_id, mode, provider, lower(email), brand, last4, expiry_month, expiry_year);

create table refunds (
  id                  uuid primary key,
  payment_id          uuid not null references payments,
  attempt_id          uuid not null references attempts,
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
  -- Chosen with the Idempotency-Key of the call that asked for it.
  call_reference      text,
  provider_refund_id  text,
  transaction_ids     text[] not null default '{}',
  tries               integer not null default 0,
  due_at              timestamptz,
  created_at          timestamptz not null default now(),
  resolved_at         timestamptz
);
create index refunds_of_payment on refunds (payment_id);
create unique index refund_of_call on refunds (payment_id, call_reference) where call_reference is not null;
create index refunds_due on refunds (due_at) where status = 'pending' and due_at is not null;
create unique index refund_of_provider on refunds (attempt_id, provider_refund_id) where provider_refund_id is not null;

-- What we asked providers, without secrets: for the timeline.
create table provider_calls (
  id          bigint generated always as identity primary key,
  attempt_id  uuid not null references attempts,
  call        text not null,
  outcome     text not null,
  detail      text,
  took_ms     integer not null,
  at          timestamptz not null default now(),
  -- The same question with the same answer again and again is one line.
  times       integer not null default 1
);
create index provider_calls_of_attempt on provider_calls (attempt_id, id);

-- Answers of calls that carried an Idempotency-Key and do more than one statement. (A checkout keeps its key in its own row.)
create table idempotent_calls (
  merchant_id   uuid not null,
  mode          text not null,
  endpoint      text not null,
  key           text collate "C" not null,
  digest        bytea not null,
  -- Chosen with the key, so that a repeat after a crash goes on with the same payment.
  reference     text not null,
  -- What it has begun: a repeat after a crash goes on with that.
  began         text,
  answer        jsonb,
  running_until timestamptz not null,
  created_at    timestamptz not null default now(),
  primary key (merchant_id, mode, endpoint, key)
);

-- Which SECRET_KEY sealed what is stored: a wrong one is noticed at the start, not at the first payment.
create table secret_keys (
  key_id   text primary key,
  canary   bytea not null
);

-- What set the change off (a notice, a check, the customer's return), for the timeline.
alter table events add column cause text;
