-- Cases: what the software must not decide alone. One table takes the place of the reviews of attempts and refunds.

create table cases (
  place              smallint not null,
  id                 uuid not null,
  merchant_id        uuid not null,
  mode               text not null,
  -- Null: money that matches no payment, or an account at a provider as a whole.
  payment_id         uuid,
  provider           text,
  reason             text not null,
  subject_kind       text not null,
  -- The id in its table, or the name of the provider for an account.
  subject            text collate "C" not null,
  -- As people know it: the reference of an attempt, the provider's id of a transaction.
  subject_reference  text,
  -- The money at stake, if it is known.
  amount             bigint,
  currency           text,
  -- One line for each fact.
  summary            text not null,
  opened_at          timestamptz not null,
  closed_at          timestamptz,
  -- The actor, as in the audit log, or `books`: the records agree again.
  closed_by          text,
  note               text,
  primary key (id, place),
  foreign key (payment_id, place) references payments (id, place),
  constraint mode_is_known check (mode in ('sandbox', 'live')),
  constraint reason_is_known check (reason in (
    'unmatched_money', 'contradiction', 'missing_at_provider', 'unanswered', 'refund_mismatch', 'refund_failed', 'surplus', 'underpaid',
    'settlement_difference', 'review')),
  constraint subject_kind_is_known check (subject_kind in ('attempt', 'receipt', 'refund', 'dispute', 'notice', 'account')),
  constraint amount_has_a_currency check ((amount is null) = (currency is null)),
  constraint amount_not_negative check (amount >= 0),
  constraint summary_says_something check (length(summary) between 1 and 10000),
  constraint note_in_range check (length(note) between 1 and 500),
  constraint closed_by_somebody check ((closed_at is null) = (closed_by is null))
);
-- Of two processes that open the same case, one is first. A refund finds its open case here, too.
create unique index one_open_case on cases (merchant_id, mode, subject_kind, subject, reason, place) where closed_at is null;
create index cases_of_payment on cases (payment_id, place);
create index cases_of_merchant on cases (merchant_id, mode, place, id);
create index cases_open_of_merchant on cases (merchant_id, mode, place, id) where closed_at is null;
create index cases_by_reason on cases (merchant_id, mode, reason, place, id);
-- For the dashboard's list of payments that need a review.
create index cases_of_attempts on cases (merchant_id, mode, place, payment_id)
  where closed_at is null and subject_kind = 'attempt' and summary not like 'held: %';
-- The operator counts the open ones of all merchants.
create index cases_open on cases (mode, reason, place) where closed_at is null;

-- As in 0001_schema.sql: without statistics about place.
alter table cases alter column place set statistics 0;

-- Events of cases without a payment.
alter table events alter column payment_id drop not null;
alter table events alter column sequence drop not null;

-- ---- What was under review ---- The id of a case begins with the time of its subject.

insert into cases (place, id, merchant_id, mode, payment_id, provider, reason, subject_kind, subject, subject_reference, summary, opened_at)
select place, id, merchant_id, mode, payment_id, provider,
       case split_part(needs_review, ':', 1)
         when 'contradiction' then 'contradiction'
         when 'outcome_unknown' then 'unanswered'
         when 'refund_mismatch' then 'refund_mismatch'
         when 'refund_failed' then 'refund_failed'
         when 'surplus' then 'surplus'
         else 'review'
       end,
       'attempt', id::text, reference, needs_review, now()
  from attempts where needs_review is not null;

insert into cases (place, id, merchant_id, mode, payment_id, provider, reason, subject_kind, subject, subject_reference, summary, opened_at, closed_at,
                   closed_by)
select place, (left(id::text, 13) || right(md5(id::text || reviewed)::uuid::text, 23))::uuid, merchant_id, mode, payment_id, provider,
       case split_part(reviewed, ':', 1)
         when 'contradiction' then 'contradiction'
         when 'outcome_unknown' then 'unanswered'
         when 'refund_mismatch' then 'refund_mismatch'
         when 'refund_failed' then 'refund_failed'
         when 'surplus' then 'surplus'
         else 'review'
       end,
       'attempt', id::text, reference, reviewed, created_at, now(), 'migration'
  from attempts where reviewed is not null;

insert into cases (place, id, merchant_id, mode, payment_id, provider, reason, subject_kind, subject, amount, currency, summary, opened_at)
select r.place, r.id, r.merchant_id, r.mode, r.payment_id, a.provider,
       case when r.needs_review like 'refund_needs_account:%' then 'review' else 'unanswered' end,
       'refund', r.id::text, r.amount, r.currency, r.needs_review, now()
  from refunds r join attempts a on a.place = r.place and a.id = r.attempt_id
 where r.needs_review is not null and r.status = 'pending';

drop index attempts_to_review;
alter table attempts drop column needs_review, drop column reviewed;
-- Why the provider waits for the customer's bank account. A call gives it, whether the case is open or not.
alter table refunds rename column needs_review to account_needed;
update refunds set account_needed = null where account_needed not like 'refund_needs_account:%' or status <> 'pending';

-- Unmatched money that nobody has handled.
insert into cases (place, id, merchant_id, mode, provider, reason, subject_kind, subject, subject_reference, amount, currency, summary, opened_at)
select r.place, (lpad(to_hex(floor(extract(epoch from r.recorded_at) * 1000)::bigint), 12, '0') ||
                 right(replace(gen_random_uuid()::text, '-', ''), 20))::uuid, r.merchant_id, r.mode, r.provider, 'unmatched_money', 'receipt', r.id::text, r.transaction_id,
       r.amount - r.returned, r.currency, 'unmatched_money: this money came in, and belongs to no payment.', r.recorded_at
  from receipts r
 where r.attempt_id is null and r.amount > r.returned
   and not exists (select from reviews v where v.place = r.place and v.receipt_id = r.id);

-- Money that an ended payment holds, that was not due, and that nobody has noted.
insert into cases (place, id, merchant_id, mode, payment_id, provider, reason, subject_kind, subject, subject_reference, amount, currency,
                   summary, opened_at)
select a.place, (left(a.id::text, 13) || right(md5(a.id::text || 'held')::uuid::text, 23))::uuid, a.merchant_id, a.mode, a.payment_id,
       a.provider, case when p.status = 'successful' then 'surplus' else 'underpaid' end, 'attempt', a.id::text, a.reference,
       a.amount_received - a.amount_returned - case when a.status = 'successful' then a.amount_charged else 0 end, a.currency,
       'held: this money came in, and was not due.', now()
  from attempts a join payments p on p.place = a.place and p.id = a.payment_id
 where p.status <> 'pending'
   and a.amount_received - a.amount_returned > case when a.status = 'successful' then a.amount_charged else 0 end
   and not exists (select from reviews v where v.place = a.place and v.attempt_id = a.id and v.act = 'noted' and v.received = a.amount_received)
   and not exists (select from cases c where c.place = a.place and c.payment_id = a.payment_id and c.subject = a.id::text
                                         and c.reason = 'surplus' and c.closed_at is null);

-- ---- Credentials ---- One that may do everything still may.
alter table credentials
  alter column scopes set default '{payments:write,payments:read,refunds,integrations,webhooks,cases:read,cases:write}';
update credentials set scopes = scopes || '{cases:read,cases:write}'
 where scopes @> '{payments:write,payments:read,refunds,integrations,webhooks}';
