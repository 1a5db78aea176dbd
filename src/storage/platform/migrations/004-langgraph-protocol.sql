-- Threads and runs of LangGraph's protocol.

-- A thread exists before an agent runs on it.
alter table {schema}.agent_instance alter column agent drop not null;
-- When the thread, its metadata or one of its runs last changed.
alter table {schema}.agent_instance add column updated_at timestamptz not null default now();
create index on {schema}.agent_instance (tenant_id, updated_at, id);

-- `graph`: the graph of an agent with an input or a command of LangGraph's protocol.
alter table {schema}.run drop constraint run_kind_check;
alter table {schema}.run add constraint run_kind_check check (kind in ('turn', 'resume', 'replay', 'graph'));
