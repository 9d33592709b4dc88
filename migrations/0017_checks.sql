-- Money that the provider had given back before we first saw it. It is part of amount_received and amount_returned of its
-- attempt, and never counts towards the payment.
alter table attempts add column amount_reversed bigint not null default 0 check (amount_reversed >= 0);
-- What the provider had given back of the transaction when it was recorded.
alter table receipts add column returned bigint not null default 0 check (returned >= 0);

-- The last return of the customer or notice. Checks of an open link are frequent again from then on. Null: none yet.
alter table attempts add column active_at timestamptz;
-- The provider has shown, in an answer or a notice, that it knows the order.
alter table attempts add column known_to_provider boolean not null default false;
-- When the provider was last asked because a customer came back or pressed "check": at most once in 3 seconds per payment.
alter table payments add column provider_asked_at timestamptz;
