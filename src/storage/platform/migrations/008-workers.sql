-- Processes that take runs, and the labels that runs ask of them.

-- A worker takes a run only if it has all of these labels. In order, so that equal sets are equal.
alter table {schema}.run add column labels text[] not null default '{}';
alter table {schema}.agent_definition add column worker_labels text[] not null default '{}';
-- Claims skip from one tenant, kind and set of labels to the next, and read no run that they cannot take.
create index run_claims on {schema}.run (tenant_id, kind, labels, priority desc, run_at, id) where state = 'queued';
drop index {schema}.run_queue;
-- Runs that need a person or an operator are counted without reading those that have ended.
create index run_open on {schema}.run (state) where state in ('awaiting_human', 'awaiting_tool', 'awaiting_event', 'dead');

create table {schema}.worker (
  id uuid primary key,
  -- As in the column `worker` of its runs.
  name text not null unique,
  host text not null,
  pid integer not null,
  version text not null,
  -- Null: all kinds.
  kinds text[],
  labels text[] not null,
  concurrency integer not null,
  -- Runs that it executed when it was last seen.
  running integer not null default 0,
  -- The advisory lock that its session for notices holds. Null while it has none: its runs are put back when their leases end.
  lock_key bigint,
  started_at timestamptz not null,
  seen_at timestamptz not null default now()
);

-- Sums since the tables were made: `takeovers` and `ended_leases` count runs that were put back.
create table {schema}.queue_count (
  name text primary key,
  total bigint not null
);

-- Rows of no tenant, which transactions of tenants do not see.
alter table {schema}.worker enable row level security, force row level security;
alter table {schema}.queue_count enable row level security, force row level security;
create policy upkeep on {schema}.worker to current_user using (current_setting('app.upkeep', true) = 'on')
  with check (current_setting('app.upkeep', true) = 'on');
create policy upkeep on {schema}.queue_count to current_user using (current_setting('app.upkeep', true) = 'on')
  with check (current_setting('app.upkeep', true) = 'on');
