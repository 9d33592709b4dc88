-- Reusable payment links: each makes ordinary payments, which name it.

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
  primary key (place, id),
  constraint amount_or_limits check (amount is null or (min_amount is null and max_amount is null)),
  constraint limits_in_order check (min_amount <= max_amount)
);
alter table links alter column place set statistics 0;
create unique index link_code on links (place, code);
create index links_of_merchant on links (place, merchant_id, mode, id);

-- Null for a payment that was made without a link, so that an ordinary payment is in neither index. No foreign key: links are never deleted.
alter table payments add column link_id uuid;
create index payments_of_link on payments (place, link_id, id) where link_id is not null;
create index payments_paid_by_link on payments (place, link_id) where link_id is not null and status = 'successful';
