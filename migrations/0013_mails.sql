-- outside a transaction

-- Receipts to customers.

-- The language of the page that the attempt was started on. Null: it was started by a call.
alter table attempts add column if not exists language text;

-- ---- Receipts to customers ---- (`receipts` are the transactions of providers.)

-- No row: never.
create table if not exists receipt_settings (
  merchant_id  uuid not null references merchants,
  mode         text not null check (mode in ('sandbox', 'live')),
  sends        text not null check (sends in ('never', 'on_request', 'always')),
  primary key (merchant_id, mode)
);

-- The outbox of these mails, written with the change of the payment, and the log of them: the key keeps a payment from
-- having two mails of a kind.
create table if not exists customer_receipts (
  place        smallint not null,
  payment_id   uuid not null,
  kind         text not null,
  merchant_id  uuid not null,
  mode         text not null,
  -- The end of the address of the receipt page, /r/{code}.
  code         text collate "C",
  -- What the customer typed. Null: the address of the payment.
  address      text,
  language     text,
  -- offered: it is sent when the customer asks for it. refused: the mail server does not know the address.
  state        text not null,
  -- Why it was dropped.
  note         text,
  tries        integer not null default 0,
  -- The next try, or the end of the lease of the process that tries.
  due_at       timestamptz not null,
  created_at   timestamptz not null,
  sent_at      timestamptz,
  primary key (payment_id, kind, place),
  foreign key (payment_id, place) references payments (id, place),
  constraint kind_is_known check (kind in ('success', 'partial_refund', 'refund')),
  constraint mode_is_known check (mode in ('sandbox', 'live')),
  constraint state_is_known check (state in ('offered', 'waiting', 'sent', 'refused', 'dropped')),
  constraint success_has_a_page check ((kind = 'success') = (code is not null)),
  constraint address_in_range check (length(address) between 3 and 254)
);
create unique index if not exists customer_receipts_code on customer_receipts (code, place) where code is not null;
create index if not exists customer_receipts_waiting on customer_receipts (due_at, place) where state = 'waiting';
-- For erasure.
create index if not exists customer_receipts_of_address on customer_receipts (merchant_id, mode, lower(address), place) where address is not null;

-- Limits of mails: how many a merchant had sent in an hour, and how many an address got in a day.
create table if not exists mail_counts (
  place        smallint not null,
  -- A digest of what is counted.
  key          bytea not null check (length(key) = 32),
  sent         integer not null,
  counts_until timestamptz not null,
  primary key (key, place)
);
create index if not exists mail_counts_by_age on mail_counts (counts_until, place);

-- As for all tables with a place.
alter table customer_receipts alter column place set statistics 0;
alter table mail_counts alter column place set statistics 0;
