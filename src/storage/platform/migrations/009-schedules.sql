-- Runs of an agent at the times of a cron expression.

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

select {schema}.isolate(format('%s.%I', $schema${schema}$schema$, 'schedule')::regclass, 'tenant_id');
