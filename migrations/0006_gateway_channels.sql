-- outside a transaction

-- The sandbox provider takes payments by phone, from a bank and by QR code.
alter table gateway_payments drop constraint if exists gateway_payments_channel_check;
alter table gateway_payments drop constraint if exists gateway_channel_is_known;
alter table gateway_payments add constraint gateway_channel_is_known
  check (channel in ('card', 'transfer', 'mobile-money', 'ussd', 'bank', 'qr')) not valid;

-- Everything but a transfer has a page. A number to pay to by mobile money is found like an account number.
alter table gateway_payments drop constraint if exists a_page_or_an_account;
alter table gateway_payments drop constraint if exists gateway_page_or_account;
alter table gateway_payments add constraint gateway_page_or_account
  check ((page_token is null) = (channel = 'transfer') and (account_number is null or channel in ('transfer', 'mobile-money'))) not valid;

-- What the customer is asked for, and how they act. Never their phone number.
alter table gateway_payments add column if not exists prompt jsonb;
-- When the customer acts by themselves, or the time is over; null once that is decided.
alter table gateway_payments add column if not exists decides_at timestamptz;
drop index concurrently if exists gateway_payments_undecided;
create index concurrently gateway_payments_undecided on gateway_payments (decides_at, place) where decides_at is not null;
