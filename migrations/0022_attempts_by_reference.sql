-- Started on a page that was opened by client-id and reference alone. Where the customer returns to depends on it.
alter table attempts add column by_reference boolean not null default false;
