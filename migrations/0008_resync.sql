-- A person asked for the payment, its refunds and disputes at this time, and the worker has not asked the provider yet.
alter table attempts add column resync_at timestamptz;
