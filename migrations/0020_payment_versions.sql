-- Optimistic concurrency control: a decision is written only if the payment still has the version that it was made on.
alter table payments add column version bigint not null default 0;
