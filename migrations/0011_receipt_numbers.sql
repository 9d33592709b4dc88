-- The number that the customer was told of a payment, where it is not the provider's id of the transaction.
alter table receipts add column receipt_number text;
