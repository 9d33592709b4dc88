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

insert into provider_accounts (merchant_id, mode, provider, version, sealed_settings, base_url, created_at, retired_at)
select merchant_id, mode, provider, 1, sealed_settings, base_url, created_at, case when not enabled then updated_at end
  from integrations where sealed_settings is not null;

-- 0: the provider has nothing to set up.
alter table integrations add column account integer not null default 0;
update integrations set account = 1 where sealed_settings is not null;
alter table integrations drop column sealed_settings, drop column base_url;

alter table attempts add column account integer not null default 0;
alter table receipts add column account integer not null default 0;
alter table notices add column account integer not null default 0;
alter table saved_cards add column account integer not null default 0;

update attempts t set account = 1 from provider_accounts p
 where (t.merchant_id, t.mode, t.provider) = (p.merchant_id, p.mode, p.provider);
update receipts t set account = 1 from provider_accounts p
 where (t.merchant_id, t.mode, t.provider) = (p.merchant_id, p.mode, p.provider);
update notices t set account = 1 from provider_accounts p
 where (t.merchant_id, t.mode, t.provider) = (p.merchant_id, p.mode, p.provider);
update saved_cards t set account = 1 from provider_accounts p
 where (t.merchant_id, t.mode, t.provider) = (p.merchant_id, p.mode, p.provider);

-- A transaction id is unique within one account of a provider only.
alter table receipts drop constraint receipts_merchant_id_mode_provider_transaction_id_key;
alter table receipts add constraint receipts_transaction unique (merchant_id, mode, provider, account, transaction_id);

-- A token works with the account that issued it only.
drop index saved_card;
create unique index saved_card
  on saved_cards (merchant_id, mode, provider, lower(email), brand, last4, expiry_month, expiry_year, account);

-- For the decision whether retired keys can be deleted.
create index attempts_of_account on attempts (merchant_id, mode, provider, account, resolved_at) where account > 0;
create index refunds_pending on refunds (merchant_id, mode) where status = 'pending';
