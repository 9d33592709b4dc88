-- outside a transaction

-- What a provider pays out to the merchant's bank account, and which payments that is for.
create table if not exists settlements (
  place           smallint not null,
  -- Begins with `made_at`, so that a list by id is one by time.
  id              uuid not null,
  merchant_id     uuid not null,
  mode            text not null,
  provider        text not null,
  -- The version of the keys that lists it.
  account         integer not null,
  provider_id     text collate "C" not null,
  currency        text not null,
  status          text not null,
  -- Why it failed or is held back.
  because         text,
  made_at         timestamptz not null,
  expected_on     date,
  paid_at         timestamptz,
  -- As the provider names them; null where it does not.
  gross           bigint,
  fees            bigint,
  deductions      bigint,
  net             bigint,
  bank_reference  text,
  has_lines       boolean not null,
  -- An equation of the provider that does not hold.
  difference      text,
  -- What the provider changed after it was paid, and was not taken over.
  changed         text,
  -- wanted: to be read, page by page from the cursor. read: to their end.
  lines_state     text not null default 'none',
  lines_cursor    text,
  -- Raised by each reading: lines of an earlier one are deleted at its end.
  reading         integer not null default 0,
  -- Of the lines, as last counted.
  line_count      integer not null default 0,
  lines_gross     bigint,
  lines_fees      bigint,
  lines_net       bigint,
  -- Lines of payments, refunds and disputes that name no payment of ours.
  foreign_count   integer not null default 0,
  announced_at    timestamptz,
  -- The credit on the bank statement.
  credit_id       bigint,
  recorded_at     timestamptz not null,
  primary key (id, place),
  constraint settlements_of_provider unique (merchant_id, mode, provider, provider_id, place),
  constraint settlement_mode_is_known check (mode in ('sandbox', 'live')),
  constraint settlement_status_is_known check (status in ('pending', 'paid', 'failed')),
  constraint lines_state_is_known check (lines_state in ('none', 'wanted', 'read'))
);
create index if not exists settlements_of_merchant on settlements (merchant_id, mode, place, id);
create index if not exists settlements_to_read on settlements (merchant_id, mode, provider, place) where lines_state = 'wanted';
create index if not exists settlements_without_credit on settlements (merchant_id, mode, place, net) where credit_id is null and status = 'paid';
create index if not exists settlements_made_at on settlements (made_at, place);

create table if not exists settlement_lines (
  place            smallint not null,
  id               bigint generated always as identity,
  merchant_id      uuid not null,
  mode             text not null,
  settlement_id    uuid not null,
  -- The provider's id of the line, or its number in the list.
  line_key         text collate "C" not null,
  kind             text not null,
  transaction_id   text collate "C",
  order_reference  text collate "C",
  gross            bigint not null,
  fee              bigint,
  net              bigint,
  -- Of ours. Without a foreign key: they are deleted before settlements are.
  payment_id       uuid,
  receipt_id       bigint,
  refund_id        uuid,
  reading          integer not null,
  primary key (id, place),
  constraint settlement_lines_key unique (settlement_id, line_key, place),
  foreign key (settlement_id, place) references settlements (id, place),
  constraint line_kind_is_known check (kind in ('payment', 'refund', 'dispute', 'fee', 'adjustment'))
);
create index if not exists settlement_lines_in_order on settlement_lines (settlement_id, place, id);
create index if not exists settlement_lines_of_payment on settlement_lines (payment_id, place) where payment_id is not null;

-- As in 0001_schema.sql: without statistics about place.
alter table settlements alter column place set statistics 0;
alter table settlement_lines alter column place set statistics 0;

-- What the provider really charged for the money, and the settlement that it is in.
alter table receipts add column if not exists fee_charged bigint;
alter table receipts add column if not exists settled_in uuid;
alter table attempts add column if not exists fee_charged bigint;
alter table refunds add column if not exists settled_in uuid;
drop index concurrently if exists receipts_not_settled;
create index concurrently receipts_not_settled on receipts (merchant_id, mode, provider, place, taken_at) include (amount, currency)
  where settled_in is null;
drop index concurrently if exists refunds_not_settled;
create index concurrently refunds_not_settled on refunds (merchant_id, mode, place, created_at) where settled_in is null and status = 'successful';

-- Reconciliation reads the list of settlements, and then the lines of those that are new.
alter table reconciliation_runs drop constraint if exists reconciliation_runs_kind_check;
alter table reconciliation_runs add constraint reconciliation_runs_kind_check
  check (kind in ('transactions', 'refunds', 'disputes', 'open', 'settlements'));
alter table reconciliation_runs drop constraint if exists reconciliation_runs_time_window_check;
alter table reconciliation_runs add constraint reconciliation_runs_time_window_check
  check (time_window in ('2 hours', '48 hours', '8 days', '180 days', 'open', 'by hand', '10 days', '60 days'));
alter table reconciliation_runs drop constraint if exists reconciliation_runs_phase_check;
alter table reconciliation_runs add constraint reconciliation_runs_phase_check check (phase in ('list', 'absent', 'lines'));

alter table cases drop constraint if exists subject_kind_is_known;
alter table cases add constraint subject_kind_is_known
  check (subject_kind in ('attempt', 'receipt', 'refund', 'dispute', 'notice', 'account', 'settlement')) not valid;

-- The sandbox provider settles once a day. A transaction is in one settlement.
create table if not exists gateway_settlements (
  place        smallint not null,
  id           bigint generated always as identity,
  merchant_id  uuid not null,
  currency     text not null,
  day          date not null,
  gross        bigint not null,
  fees         bigint not null,
  deductions   bigint not null,
  net          bigint not null,
  made_at      timestamptz not null,
  paid_at      timestamptz not null,
  primary key (id, place)
);
create index if not exists gateway_settlements_of_merchant on gateway_settlements (merchant_id, place, made_at);
create index if not exists gateway_settlements_by_age on gateway_settlements (made_at, place);
alter table gateway_settlements alter column place set statistics 0;
alter table gateway_transactions add column if not exists settlement_id bigint;
drop index concurrently if exists gateway_transactions_settled;
create index concurrently gateway_transactions_settled on gateway_transactions (settlement_id, place, id) where settlement_id is not null;
drop index concurrently if exists gateway_transactions_unsettled;
create index concurrently gateway_transactions_unsettled on gateway_transactions (merchant_id, place, at)
  where settlement_id is null and status = 'paid';
alter table gateway_faults add column if not exists short_settlement double precision not null default 0;
alter table gateway_faults add column if not exists late_settlement double precision not null default 0;

-- Credits of the bank statements that the merchant has uploaded: day and amount, and nothing of who paid. Two equal
-- ones of a day differ by `number`, so that a statement can be uploaded again.
create table if not exists bank_credits (
  place        smallint not null,
  id           bigint generated always as identity,
  merchant_id  uuid not null,
  mode         text not null,
  currency     text not null,
  day          date not null,
  amount       bigint not null,
  number       integer not null,
  -- Where it stood in the file.
  line         integer not null,
  recorded_at  timestamptz not null,
  primary key (id, place),
  constraint bank_credits_once unique (merchant_id, mode, currency, day, amount, number, place),
  constraint bank_credit_mode_is_known check (mode in ('sandbox', 'live')),
  constraint bank_credit_is_money check (amount > 0)
);
create index if not exists bank_credits_by_age on bank_credits (recorded_at, place);
create unique index if not exists one_settlement_per_credit on settlements (credit_id, place) where credit_id is not null;
alter table bank_credits alter column place set statistics 0;

-- How the columns of the last statement were read.
create table if not exists bank_columns (
  merchant_id  uuid not null references merchants,
  mode         text not null check (mode in ('sandbox', 'live')),
  columns      jsonb not null,
  primary key (merchant_id, mode)
);
