-- Retention deletes events with their payments: of the sandbox, and of live payments after two years. Every other delete is still refused.
-- See docs/operations/retention.md.
create trigger events_are_kept before delete on events for each row
  when (current_setting('manilla.retention', true) is distinct from 'on'
        or old.mode <> 'sandbox' and old.occurred_at > now() - interval '730 days')
  execute function refuse_to_rewrite_events();
create or replace trigger events_are_append_only before update on events
  for each row execute function refuse_to_rewrite_events();
