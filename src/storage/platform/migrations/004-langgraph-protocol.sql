-- Threads and runs of LangGraph's protocol.

-- A thread exists before an agent runs on it.
alter table {schema}.agent_instance alter column agent drop not null;
-- When the thread, its metadata or one of its runs last changed.
alter table {schema}.agent_instance add column updated_at timestamptz not null default now();
create index on {schema}.agent_instance (tenant_id, updated_at, id);
-- Lists in the order of creation read no rows of other tenants, which the primary key alone would.
create index on {schema}.agent_instance (tenant_id, created_at, id);

-- `graph`: the graph of an agent with an input or a command of LangGraph's protocol.
alter table {schema}.run drop constraint run_kind_check;
alter table {schema}.run add constraint run_kind_check check (kind in ('turn', 'resume', 'replay', 'graph'));

-- A thread is as new as its newest run, and as the last end of one. The beginning of a run changes nothing on its thread.
create function {schema}.run_changed() returns trigger language plpgsql as $run_changed$
begin
  update {schema}.agent_instance set updated_at = greatest(updated_at, now())
  where tenant_id = new.tenant_id and id = new.instance_id;
  return null;
end
$run_changed$;
create trigger run_added after insert on {schema}.run
  for each row execute function {schema}.run_changed();
create trigger run_ended after update of state on {schema}.run
  for each row when (old.state is distinct from new.state and new.state <> 'running') execute function {schema}.run_changed();
