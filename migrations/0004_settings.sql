-- The zone in which the dashboard shows days and times of this merchant, by its IANA name. Null: the zone of each member's browser.
alter table merchants add column time_zone text check (time_zone ~ '^[A-Za-z][A-Za-z0-9_+/-]{0,63}$');
