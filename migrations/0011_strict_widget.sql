-- Whether a reference is enough to open a merchant's widget, or a token that its server asked for has to come with it. The same in both modes.
alter table merchants add column widget text not null default 'open' check (widget in ('open', 'strict'));
