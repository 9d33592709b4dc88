-- Named sets of filters of the list of payments, which a member keeps for a merchant. They hold no search text: it may be a customer's
-- address, which must be erasable.
create table saved_views (
  id          uuid primary key,
  member_id   uuid not null,
  merchant_id uuid not null,
  name        text not null,
  filters     jsonb not null,
  created_at  timestamptz not null default now(),
  foreign key (member_id, merchant_id) references memberships on delete cascade,
  unique (member_id, merchant_id, name)
);
