-- Disputes, reconciliation of refunds and disputes that were made at the provider, and refunds that need review.

create table disputes (
  id                   uuid primary key,
  payment_id           uuid not null references payments,
  attempt_id           uuid not null references attempts,
  merchant_id          uuid not null,
  mode                 text not null check (mode in ('sandbox', 'live')),
  provider_dispute_id  text collate "C" not null,
  amount               bigint not null check (amount > 0),
  currency             text not null,
  status               text not null check (status in ('open', 'won', 'lost')),
  reason               text,
  respond_by           timestamptz,
  -- The refund row that counts the lost money, and the provider's own refund that settled the dispute: neither is counted twice.
  refund_id            uuid references refunds,
  settled_by           text collate "C",
  opened_at            timestamptz not null,
  resolved_at          timestamptz,
  created_at           timestamptz not null default now(),
  updated_at           timestamptz not null default now(),
  unique (attempt_id, provider_dispute_id),
  constraint resolved_has_a_time check ((status = 'open') = (resolved_at is null))
);
create index disputes_of_payment on disputes (payment_id);
create index disputes_of_merchant on disputes (merchant_id, mode, id);
create index disputes_by_status on disputes (merchant_id, mode, status, id);

-- Why a person has to look at a refund that did not finish in time; null when nobody has to.
alter table refunds add column needs_review text;

-- When to list the provider's refunds and disputes of an attempt next; the daily listing ends at reconcile_until.
alter table attempts add column reconcile_at timestamptz;
alter table attempts add column reconcile_until timestamptz;
create index attempts_to_reconcile on attempts (reconcile_at) where reconcile_at is not null;
update attempts
   set reconcile_at = now() + random() * interval '1 day', reconcile_until = now() + interval '7 days'
 where amount_received > 0 and created_at > now() - interval '8 days';

-- The sandbox provider: disputes, and money that moves with them.
create table gateway_disputes (
  id           bigint generated always as identity primary key,
  payment_id   bigint not null references gateway_payments,
  merchant_id  uuid not null,
  amount       bigint not null check (amount > 0),
  currency     text not null,
  status       text not null default 'open' check (status in ('open', 'won', 'lost')),
  reason       text not null,
  respond_by   timestamptz not null,
  opened_at    timestamptz not null default clock_timestamp(),
  -- Losing it took money. False when a refund had given the same money back.
  moved        boolean not null default false,
  settled_by   bigint references gateway_transactions
);
create index gateway_disputes_of_payment on gateway_disputes (payment_id, id);

alter table gateway_transactions drop constraint gateway_transactions_kind_check;
alter table gateway_transactions add constraint gateway_transactions_kind_check
  check (kind in ('charge', 'transfer', 'refund', 'dispute', 'reinstatement'));
-- A refund that was made in the dashboard, not by a call to the API.
alter table gateway_transactions add column by_hand boolean not null default false;
create index gateway_transactions_taken on gateway_transactions (merchant_id, at, id)
  where kind in ('charge', 'transfer') and status = 'paid';
