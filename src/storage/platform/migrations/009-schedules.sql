-- Runs that begin by the clock: at the times of a cron expression, and when a wait is over.

create table {schema}.schedule (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  agent_id uuid not null,
  name text,
  -- Cron expression, in the time zone.
  cron text not null,
  time_zone text not null,
  kind text not null check (kind in ('turn', 'graph')),
  -- The request of its runs, without the version of the agent and the id of the turn. Sealed where values are.
  request json not null,
  priority integer not null default 0,
  metadata jsonb not null default '{}',
  -- The thread of all its runs; null: each run has a new one.
  thread_id text,
  -- Whether new threads are deleted after the end of their runs.
  is_ephemeral boolean not null default false,
  -- Whether a firing is left out while a run of the thread is queued or running.
  is_exclusive boolean not null default false,
  missed text not null check (missed in ('once', 'all', 'none')),
  max_missed integer not null,
  enabled boolean not null default true,
  -- Null after the last firing.
  next_at timestamptz,
  last_at timestamptz,
  last_run_id uuid,
  -- Why the last firing made no run; null if it made one.
  last_problem text,
  end_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, name)
);
create index on {schema}.schedule (tenant_id, id);
create index on {schema}.schedule (next_at) where enabled and next_at is not null;

-- The first deadline of a run that waits. The run is resumed when it is due.
create table {schema}.timer (
  run_id uuid primary key references {schema}.run on delete cascade,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  due_at timestamptz not null
);
create index on {schema}.timer (due_at);
create index on {schema}.timer (tenant_id);

-- A run that waits no longer has no timer, whatever ended the wait.
create function {schema}.end_timer() returns trigger language plpgsql as $end_timer$
begin
  delete from {schema}.timer where tenant_id = new.tenant_id and run_id = new.id;
  return null;
end
$end_timer$;
create trigger run_goes_on after update of state on {schema}.run
  for each row when (old.state in ('awaiting_human', 'awaiting_tool', 'awaiting_event') and new.state is distinct from old.state)
  execute function {schema}.end_timer();

-- A run whose turn waits for a time or an event.
alter table {schema}.run drop constraint run_state_check;
alter table {schema}.run add constraint run_state_check
  check (state in ('queued', 'running', 'awaiting_human', 'awaiting_tool', 'awaiting_event', 'complete', 'failed', 'cancelled', 'dead'));

-- Events that were sent to a thread: kept for a wait to come, and those with a key after their delivery as well.
create table {schema}.thread_event (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  instance_id uuid not null references {schema}.agent_instance on delete cascade,
  name text not null,
  -- Sealed where values are.
  payload json not null,
  -- Idempotency-Key of the request.
  key text,
  delivered_at timestamptz,
  -- The run that got it, where it was delivered as it came.
  run_id uuid,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  unique (instance_id, key)
);
create index on {schema}.thread_event (instance_id, name, id) where delivered_at is null;
create index on {schema}.thread_event (tenant_id);
create index on {schema}.thread_event (expires_at);

select {schema}.isolate(format('%s.%I', $schema${schema}$schema$, name)::regclass, 'tenant_id')
from unnest(array['schedule', 'timer', 'thread_event']) name;
