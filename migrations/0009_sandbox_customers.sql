-- The sandbox provider does not keep the names and addresses of customers any more: nothing needs them.
update gateway_payments set email = '', name = null where email <> '' or name is not null;
