-- How a merchant's payment page looks, which sites may show it in a frame, and when it sends the customer back. The same in both modes.

alter table merchants
  add column colour text check (colour ~ '^#[0-9a-f]{6}$'),
  add column corners text not null default 'rounded' check (corners in ('square', 'rounded', 'pill')),
  -- Null: the customer's own.
  add column language text check (language in ('en', 'fr', 'ar')),
  -- Null: only when the customer says so.
  add column return_after_seconds integer default 5 check (return_after_seconds between 0 and 60),
  -- They end up in a header of the page, so nothing may be in them that a header understands.
  add column origins text[] not null default '{}' check (
    cardinality(origins) <= 20 and array_position(origins, null) is null
    and array_to_string(origins, ',') ~ '^(https?://[a-z0-9.:*-]+(,https?://[a-z0-9.:*-]+)*)?$');

-- Apart from the merchants, so that a list of those stays light.
create table merchant_logos (
  merchant_id  uuid primary key references merchants,
  version      text not null check (version ~ '^[0-9a-f]{16}$'),
  type         text not null check (type in ('image/png', 'image/jpeg', 'image/webp')),
  bytes        bytea not null check (octet_length(bytes) between 1 and 10240)
);
