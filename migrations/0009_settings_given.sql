-- The names of the settings that a merchant has given, beside the sealed values: some offers of a provider are off
-- until one of them is there.

alter table integrations add column settings_given text[] not null default '{}';
