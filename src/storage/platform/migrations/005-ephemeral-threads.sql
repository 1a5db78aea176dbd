-- Threads of runs that brought none of their own.

-- Whether the thread is deleted once its last run has ended.
alter table {schema}.agent_instance add column is_ephemeral boolean not null default false;
create index on {schema}.agent_instance (updated_at, id) where is_ephemeral;
