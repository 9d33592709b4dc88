-- What people decided about money that does not add up, and about payments that need a review; and the erasure of customers.

-- The reason that a person has reviewed: the same one is not raised again.
alter table attempts add column reviewed text;

-- Attempts that hold money beyond what is due: underpaid, overpaid, or surplus that could not be refunded. An ordinary payment is not in it.
create index attempts_holding on attempts (place, merchant_id, mode, id)
  where amount_received - amount_returned > case when status = 'successful' then amount_charged else 0 end;

create table reviews (
  place        smallint not null,
  id           uuid not null,
  merchant_id  uuid not null,
  mode         text not null check (mode in ('sandbox', 'live')),
  kind         text not null check (kind in ('unmatched', 'underpaid', 'overpaid', 'surplus', 'late', 'payment')),
  act          text not null check (act in ('matched', 'returned', 'returned_by_hand', 'noted', 'reviewed')),
  -- An unmatched receipt, or an attempt and its payment; of a late payment, and of a reviewed one, the payment alone.
  receipt_id   bigint,
  attempt_id   uuid,
  payment_id   uuid,
  amount       bigint not null check (amount >= 0),
  currency     text not null,
  -- What the attempt had received. More money puts it on the list again.
  received     bigint,
  -- The return through the provider. If it fails, the money is on the list again.
  refund_id    uuid,
  note         text check (length(note) between 1 and 500),
  actor        text not null,
  at           timestamptz not null default now(),
  primary key (place, id),
  foreign key (place, receipt_id) references receipts (place, id),
  foreign key (place, attempt_id) references attempts (place, id),
  foreign key (place, payment_id) references payments (place, id),
  foreign key (place, refund_id) references refunds (place, id)
);
alter table reviews alter column place set statistics 0;
-- Of two people who act at the same time, one is first.
create unique index one_review_of_receipt on reviews (place, receipt_id) where receipt_id is not null;
create index reviews_of_payment on reviews (place, payment_id) where payment_id is not null;
create index reviews_of_attempt on reviews (place, attempt_id) where attempt_id is not null;
create index reviews_of_merchant on reviews (place, merchant_id, mode, id);

-- Events stay append-only, except that erasing a customer replaces the personal data in them.
create function refuse_to_rewrite_events() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and current_setting('manilla.erasing', true) = 'on'
     and (new.place, new.id, new.merchant_id, new.mode, new.payment_id, new.type, new.sequence, new.cause, new.occurred_at)
         is not distinct from
         (old.place, old.id, old.merchant_id, old.mode, old.payment_id, old.type, old.sequence, old.cause, old.occurred_at)
  then
    return new;
  end if;
  raise exception '% is append-only: what happened is not rewritten', tg_table_name;
end $$;
drop trigger events_are_append_only on events;
create trigger events_are_append_only before update or delete on events
  for each row execute function refuse_to_rewrite_events();
