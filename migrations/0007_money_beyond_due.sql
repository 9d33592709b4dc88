-- outside a transaction

-- They may hold money that is not due: underpaid, overpaid, or surplus that was not given back. What is due falls with
-- the refunds of the payment, so an attempt that holds less than was charged may still have surplus.
drop index concurrently if exists attempts_holding;
create index concurrently attempts_holding on attempts (merchant_id, mode, place, id)
  where amount_received > amount_returned and amount_received > case when status = 'successful' then amount_charged else 0 end;
