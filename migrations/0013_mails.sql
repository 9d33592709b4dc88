-- outside a transaction

-- Receipts to customers, and alerts to members.

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

-- ---- Alerts to members ----

-- What somebody may have to look at. It names its subject only: whether that still needs a person is read when a mail
-- about it is written, and so are its words, which may hold personal data.
create table if not exists alerts (
  place         smallint not null,
  id            bigint generated always as identity,
  merchant_id   uuid not null,
  mode          text not null,
  kind          text not null,
  subject       text collate "C" not null,
  created_at    timestamptz not null,
  -- The rows of those who are told are written.
  addressed_at  timestamptz,
  primary key (id, place),
  constraint mode_is_known check (mode in ('sandbox', 'live')),
  constraint kind_is_known check (kind in (
    'dispute_opened', 'dispute_due', 'refund_failed', 'case_opened', 'provider_failing', 'webhooks_failing', 'settlement', 'live_key'))
);
-- A search that finds the same again writes nothing.
create unique index if not exists alerts_once on alerts (merchant_id, mode, kind, subject, place);
create index if not exists alerts_to_address on alerts (created_at, place) where addressed_at is null;
create index if not exists alerts_by_age on alerts (created_at, place);

-- Which alerts wait for whom. They are deleted when they are sent, or when their reason has gone.
create table if not exists alert_copies (
  place        smallint not null,
  alert_id     bigint not null,
  -- The id of a member, or `operator` for ALERTS_URL.
  recipient    text collate "C" not null,
  merchant_id  uuid not null,
  mode         text not null,
  kind         text not null,
  primary key (alert_id, recipient, place),
  foreign key (alert_id, place) references alerts (id, place) on delete cascade
);
create index if not exists alert_copies_of_recipient on alert_copies (recipient, merchant_id, mode, kind, place, alert_id);

-- When each recipient was last told of a subject: of one kind of alert of a merchant, or of all by the daily digest.
create table if not exists alert_times (
  recipient     text collate "C" not null,
  merchant_id   uuid not null references merchants,
  mode          text not null,
  -- A kind of alert, or `digest`.
  subject       text not null,
  sent_at       timestamptz,
  tries         integer not null default 0,
  -- The lease of the process that sends, and the wait after a failed try.
  leased_until  timestamptz not null,
  primary key (recipient, merchant_id, mode, subject)
);

-- What a member wants. No row: owner and admins get all alerts of live mode, each at once, and others none.
create table if not exists alert_choices (
  member_id    uuid not null,
  merchant_id  uuid not null,
  mode         text not null check (mode in ('sandbox', 'live')),
  kinds        text[] not null,
  daily        boolean not null,
  primary key (member_id, merchant_id, mode),
  foreign key (member_id, merchant_id) references memberships on delete cascade
);

-- The worker looks for disputes that must be answered soon.
drop index concurrently if exists disputes_to_answer;
create index concurrently disputes_to_answer on disputes (respond_by, place) where status = 'open' and respond_by is not null;

-- As for all tables with a place.
alter table customer_receipts alter column place set statistics 0;
alter table mail_counts alter column place set statistics 0;
alter table alerts alter column place set statistics 0;
alter table alert_copies alter column place set statistics 0;
