-- What an account can do, as its provider says, for providers where that differs from account to account.
alter table integrations
  add column offers jsonb,
  -- When it is read again. Null: the provider can do the same with every account.
  add column offers_due_at timestamptz;

-- The worker asks every two seconds which are due. Most integrations never are.
create index integrations_offers_due on integrations (offers_due_at) where enabled and offers_due_at is not null;
