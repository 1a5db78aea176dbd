-- Lists of threads read the threads of their page, whatever they filter by. A search compares the beginnings of titles and ids.
alter table {schema}.agent_instance
  -- The agent of `definition_id`: an index leads to the threads of all its versions.
  add column agent_id uuid,
  -- From the first message. Sealed where values are.
  add column title json;
update {schema}.agent_instance i set agent_id = d.agent_id from {schema}.agent_definition d where d.id = i.definition_id;
-- The shown title in lower case; null while it is sealed. Row-level security uses an index for comparisons of columns
-- alone, and for none of text search.
alter table {schema}.agent_instance
  add column title_key text collate "C" generated always as (lower(left(case
    when jsonb_typeof(metadata -> 'title') = 'string' and metadata ->> 'title' <> '' then metadata ->> 'title'
    when jsonb_typeof(metadata -> 'name') = 'string' and metadata ->> 'name' <> '' then metadata ->> 'name'
    when title #>> '{}' not like 'sealed:%' then title #>> '{}' end, 200))) stored;
create index on {schema}.agent_instance (tenant_id, status, created_at, id);
create index on {schema}.agent_instance (tenant_id, status, updated_at, id);
create index on {schema}.agent_instance (tenant_id, agent_id, status, created_at, id);
create index on {schema}.agent_instance (tenant_id, agent_id, status, updated_at, id);
create index on {schema}.agent_instance (tenant_id, title_key) where title_key is not null;
create index on {schema}.agent_instance (tenant_id, thread_id collate "C");
drop index if exists {schema}.agent_instance_tenant_id_status_created_at_idx;
drop index if exists {schema}.agent_instance_tenant_id_id_idx;

-- A thread that is made with its first run is as new as the run: a second write would change all its indexes once more.
create or replace function {schema}.run_changed() returns trigger language plpgsql as $run_changed$
begin
  update {schema}.agent_instance set updated_at = now()
  where tenant_id = new.tenant_id and id = new.instance_id and updated_at < now();
  return null;
end
$run_changed$;

-- Claims look at the runs of a thread that have not ended, however many have.
create index run_active on {schema}.run (tenant_id, thread_id, seq)
  where state in ('queued', 'running', 'awaiting_human', 'awaiting_tool', 'awaiting_event');
