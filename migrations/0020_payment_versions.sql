-- Optimistic concurrency control: a decision is written only if the payment still has the version that it was made on.
alter table payments add column version bigint not null default 0;

-- The destination of an endpoint is its id as the database has it.
update deliveries set destination = endpoint_id::text where endpoint_id is not null and state = 'waiting';
delete from delivery_retries where not is_host;
