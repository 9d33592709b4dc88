-- What merchants ask for. Created at a high rate, so every index here either grows at its end (ids, codes and generated
-- references start with the time) or is partial.

create table payments (
  id                     uuid primary key,
  merchant_id            uuid not null, -- no foreign key: each insert would look up and lock the merchant's row, and merchants are never deleted
  mode                   text not null check (mode in ('sandbox', 'live')),
  reference              text collate "C" not null,
  short_code             text collate "C" not null,
  status                 text not null default 'pending' check (status in ('pending', 'successful', 'cancelled', 'expired')),
  late                   boolean not null default false,
  amount                 bigint not null check (amount between 1 and 999999999999),
  currency               text not null,
  country                text not null,
  customer_bears_charge  boolean not null,
  amount_paid            bigint not null default 0 check (amount_paid between 0 and 9007199254740991),
  amount_refunded        bigint not null default 0 check (amount_refunded between 0 and amount_paid),
  user_email             text not null,
  user_phone_number      text,
  user_name              text,
  redirect_url           text,
  webhook_url            text,
  metadata               jsonb not null,
  idempotency_key        text collate "C",
  request_digest         bytea,
  sequence               integer not null default 0,
  created_at             timestamptz not null default now(),
  expires_at             timestamptz not null,
  completed_at           timestamptz,
  constraint key_has_digest check ((idempotency_key is null) = (request_digest is null))
);

create unique index payment_reference on payments (merchant_id, mode, reference);
create index payments_of_merchant on payments (merchant_id, mode, id);
-- For lists: by customer, and by what became of them (a payment enters this one only when it is finished).
create index payments_of_customer on payments (merchant_id, mode, lower(user_email), id);
create index payments_finished on payments (merchant_id, mode, status, id) where status <> 'pending';
create unique index payment_short_code on payments (short_code);
-- The key stays with the payment that it made, so both are written by one statement and neither can be there alone.
create unique index payment_idempotency_key on payments (merchant_id, mode, idempotency_key) where idempotency_key is not null;

-- Expiry asks for these alone. Most links live for the same time, so this one too grows at its end.
create index payments_to_expire on payments (expires_at) where status = 'pending';

-- What happened to them, in the transaction that made it happen.
create table events (
  id           uuid primary key,
  merchant_id  uuid not null references merchants,
  mode         text not null,
  payment_id   uuid not null references payments,
  type         text not null,
  sequence     integer not null,
  data         jsonb not null,
  occurred_at  timestamptz not null default now(),
  unique (payment_id, sequence)
);

create trigger events_are_append_only before update or delete or truncate on events
  for each statement execute function refuse_to_rewrite_history();
