-- The books of the sandbox provider. It stands on the other side of the port: nothing here refers to our own tables, and nothing of ours
-- refers to these. No card number is kept, only which of the test cards it was.

-- Account numbers come one after the other, so they are unique without looking and their index grows at its end.
create sequence gateway_account_numbers as bigint start 9000000001 maxvalue 9999999999;

-- Cards that customers agreed to keep. The token starts with the time, then 128 random bits.
create table gateway_cards (
  token         text collate "C" primary key,
  merchant_id   uuid not null,
  behaviour     text not null,
  brand         text not null,
  last4         text not null check (last4 ~ '^[0-9]{4}$'),
  expiry_month  integer not null check (expiry_month between 1 and 12),
  expiry_year   integer not null check (expiry_year between 2000 and 2999),
  created_at    timestamptz not null default now()
);

create table gateway_payments (
  id               bigint generated always as identity primary key,
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
  offered_card     text collate "C" references gateway_cards,
  awaiting_code    jsonb,
  kept_card        text collate "C" references gateway_cards,
  expires_at       timestamptz not null,
  cancelled_at     timestamptz,
  created_at       timestamptz not null default now(),
  constraint a_page_or_an_account check ((page_token is not null) = (channel = 'card') and (account_number is not null) = (channel = 'transfer'))
);
create unique index gateway_payment_reference on gateway_payments (merchant_id, reference);
create index gateway_payments_of_merchant on gateway_payments (merchant_id, id);
create unique index gateway_payment_page on gateway_payments (page_token) where page_token is not null;
create unique index gateway_payment_account on gateway_payments (account_number) where account_number is not null;

-- Every movement of money, and every try at one. Rows are only ever added.
create table gateway_transactions (
  id                bigint generated always as identity primary key,
  payment_id        bigint not null references gateway_payments,
  merchant_id       uuid not null,
  kind              text not null check (kind in ('charge', 'transfer', 'refund')),
  status            text not null check (status in ('paid', 'failed')),
  amount            bigint not null check (amount between 1 and 9007199254740991),
  currency          text not null,
  failure_code      text,
  refund_reference  text collate "C",
  -- Until then the provider itself says "processing", though the money has moved.
  settles_at        timestamptz,
  at                timestamptz not null default clock_timestamp(),
  constraint failed_has_a_reason check ((status = 'failed') = (failure_code is not null)),
  constraint refund_has_a_reference check ((kind = 'refund') = (refund_reference is not null))
);
create index gateway_transactions_of_payment on gateway_transactions (payment_id, id);
create unique index gateway_refund_reference on gateway_transactions (merchant_id, refund_reference) where kind = 'refund';
-- Whatever the code does: a card payment is charged once.
create unique index gateway_one_paid_charge on gateway_transactions (payment_id) where kind = 'charge' and status = 'paid';

-- What is still to be told, in the very bytes of every try. due_at is also the lease: whoever claims a notice moves it ahead.
create table gateway_notices (
  id           bigint generated always as identity primary key,
  merchant_id  uuid not null,
  body         text not null,
  state        text not null default 'waiting' check (state in ('waiting', 'sent', 'lost', 'given_up')),
  tries        integer not null default 0,
  due_at       timestamptz not null,
  created_at   timestamptz not null default now()
);
create index gateway_notices_waiting on gateway_notices (due_at) where state = 'waiting';

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
