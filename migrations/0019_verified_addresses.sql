-- An address is verified by a link that was mailed to it and shown to nobody else.

alter table members add column email_verified_at timestamptz;

-- A link that is mailed and shown to its creator has two tokens, so that only the mailed one verifies the address.
alter table one_time_links add column mailed_digest bytea check (length(mailed_digest) = 32);
create unique index one_time_links_mailed on one_time_links (mailed_digest) where mailed_digest is not null;
