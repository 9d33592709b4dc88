-- What an account can do, as its provider says, for providers where that differs from account to account.
alter table integrations
  add column offers jsonb,
  -- When it is read again. Null: the provider can do the same with every account.
  add column offers_due_at timestamptz;
