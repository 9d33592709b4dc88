-- More ways to pay than by card and by bank transfer, and what the customer gave for them (a phone number and its
-- network, or a bank). It is personal data: erasure empties it.

alter table attempts drop constraint channel_is_known;
alter table attempts add constraint channel_is_known
  check (channel in ('card', 'virtual-bank-account', 'mobile-money', 'ussd', 'bank', 'qr'));
alter table attempts add column input jsonb;
