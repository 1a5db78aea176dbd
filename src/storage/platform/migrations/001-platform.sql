-- Tenants and what they own. Ids are uuid v7. JSON is stored as `json`, since `jsonb` refuses texts with NUL characters;
-- a sealed value is a JSON string that begins with `sealed:`.
create table {schema}.tenant (
  id uuid primary key,
  name text not null unique,
  plan_tier text not null default 'default',
  settings jsonb not null default '{}',
  created_at timestamptz not null default now(),
  -- Set while the tenant may not call: its keys are refused.
  suspended_at timestamptz
);

create table {schema}.api_key (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  name text not null,
  -- SHA-256 of the key, which is 256 random bits and is not stored.
  key_hash bytea not null unique,
  scopes text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
create index on {schema}.api_key (tenant_id, id);

-- One row a version. `agent_id` is the same for all versions of an agent.
create table {schema}.agent_definition (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  agent_id uuid not null,
  name text not null,
  -- Semantic version.
  version text not null,
  definition json not null,
  -- One version of an agent at most is active: new runs take it.
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, name, version)
);
create unique index on {schema}.agent_definition (tenant_id, agent_id) where is_active;
create unique index on {schema}.agent_definition (tenant_id, name) where is_active;
create index on {schema}.agent_definition (tenant_id, agent_id, id);

-- An agent on a thread.
create table {schema}.agent_instance (
  id uuid primary key,
  tenant_id uuid not null,
  -- Null where the definition came from code or a file.
  definition_id uuid references {schema}.agent_definition on delete set null,
  agent text not null,
  thread_id text not null,
  status text not null default 'CREATED',
  metadata jsonb not null default '{}',
  -- Turns so far: the number of the newest.
  turns integer not null default 0,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  unique (tenant_id, thread_id)
);
create index on {schema}.agent_instance (tenant_id, status, created_at);
create index on {schema}.agent_instance (tenant_id, id);
create index on {schema}.agent_instance (definition_id) where definition_id is not null;

-- An execution on a thread that was asked for, with all of its turns. Claiming one increments `epoch`; what an older
-- epoch writes is refused.
create table {schema}.run (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  instance_id uuid not null references {schema}.agent_instance on delete cascade,
  thread_id text not null,
  -- Number on its thread, from 1.
  seq integer not null,
  kind text not null check (kind in ('turn', 'resume', 'replay')),
  state text not null default 'queued'
    check (state in ('queued', 'running', 'awaiting_human', 'awaiting_tool', 'complete', 'failed', 'cancelled', 'dead')),
  -- What the next claim executes: { kind, input, answers, tool_results, options }.
  request json not null,
  -- How the last turn ended: { output, tool_calls, requests, cause, usage, checkpoint_id }; null until then.
  result json,
  priority integer not null default 0,
  run_at timestamptz not null default now(),
  epoch integer not null default 0,
  attempts integer not null default 0,
  worker text,
  lease_until timestamptz,
  cancel_requested_at timestamptz,
  -- Number of its newest event.
  last_event integer not null default 0,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  unique (tenant_id, thread_id, seq)
);
create index on {schema}.run (priority desc, run_at, id) where state = 'queued';
create index on {schema}.run (lease_until) where state = 'running';
-- One run of a thread at most is executed, whatever claims at the same time.
create unique index run_on_thread on {schema}.run (tenant_id, thread_id) where state = 'running';
create index on {schema}.run (tenant_id, id);
create index on {schema}.run (instance_id, id);
create index on {schema}.run (tenant_id, state, id);

-- A request to cancel what runs on a thread, whichever process runs it.
create table {schema}.cancel_request (
  tenant_id uuid not null,
  thread_id text not null,
  requested_at timestamptz not null default now(),
  reason text,
  primary key (tenant_id, thread_id)
);

create table {schema}.tool (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  name text not null,
  version text not null default '1.0.0',
  -- Everything else: display_name, description, schemas, transport with its endpoint and headers, permissions, execution.
  definition json not null,
  created_at timestamptz not null default now(),
  unique (tenant_id, name)
);

create table {schema}.tool_binding (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  agent_id uuid not null,
  tool_id uuid not null references {schema}.tool on delete cascade,
  -- execution, permissions, requires_approval, description
  config_overrides jsonb not null default '{}',
  is_enabled boolean not null default true,
  created_at timestamptz not null default now(),
  unique (tenant_id, agent_id, tool_id)
);
create index on {schema}.tool_binding (tool_id);

create table {schema}.webhook (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  url text not null,
  events text[] not null,
  -- Signs deliveries. Sealed where values are.
  secret json not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now()
);
create index on {schema}.webhook (tenant_id, id);

create table {schema}.webhook_delivery (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  webhook_id uuid not null references {schema}.webhook on delete cascade,
  event text not null,
  -- Sealed where values are.
  body json not null,
  state text not null default 'queued' check (state in ('queued', 'delivered', 'failed')),
  attempts integer not null default 0,
  next_at timestamptz not null default now(),
  -- HTTP status of the last attempt, or what failed.
  last_result text,
  created_at timestamptz not null default now()
);
create index on {schema}.webhook_delivery (next_at) where state = 'queued';
create index on {schema}.webhook_delivery (webhook_id, id);
create index on {schema}.webhook_delivery (tenant_id);

-- Answers to POST requests that came with an Idempotency-Key.
create table {schema}.idempotency_key (
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  key text not null,
  -- SHA-256 of method, path and body: another request under the same key is refused.
  request_hash bytea not null,
  -- Null while the first request is under way.
  status integer,
  -- Sealed where values are.
  answer json,
  created_at timestamptz not null default now(),
  primary key (tenant_id, key)
);
create index on {schema}.idempotency_key (created_at);

-- Sums of a day in UTC, for quotas and for usage.
create table {schema}.usage_day (
  tenant_id uuid not null,
  day date not null,
  requests bigint not null default 0,
  runs bigint not null default 0,
  turns bigint not null default 0,
  tool_calls bigint not null default 0,
  llm_calls bigint not null default 0,
  tokens_in bigint not null default 0,
  cached_tokens bigint not null default 0,
  tokens_out bigint not null default 0,
  reasoning_tokens bigint not null default 0,
  -- US dollars of calls with a known price.
  cost_usd numeric not null default 0,
  unpriced_calls bigint not null default 0,
  primary key (tenant_id, day)
);

-- Partitioned by day in UTC. `at` is the time in the uuid v7 `id`, so that a row is found by its id alone. There is no
-- default partition: `ensure_days` creates the days.
create table {schema}.turn (
  at timestamptz not null,
  id uuid not null,
  tenant_id uuid not null,
  instance_id uuid not null,
  -- Null where no run was asked for: code and the command line.
  run_id uuid,
  -- From 1 in its instance.
  turn_number integer not null,
  checkpoint_id text,
  input json,
  output json,
  status text not null,
  cause json,
  tokens_in bigint not null default 0,
  cached_tokens bigint not null default 0,
  tokens_out bigint not null default 0,
  reasoning_tokens bigint not null default 0,
  llm_calls integer not null default 0,
  tool_calls integer not null default 0,
  -- US dollars; null if a call has no known price.
  cost_usd double precision,
  latency_ms integer,
  ended_at timestamptz,
  primary key (at, id)
) partition by range (at);
create index on {schema}.turn (instance_id, turn_number);
create index on {schema}.turn (tenant_id, at, id);

-- The readable projection of the journal, which is the truth for tool calls.
create table {schema}.tool_call (
  at timestamptz not null,
  id uuid not null,
  tenant_id uuid not null,
  turn_id uuid not null,
  agent text not null,
  step integer not null,
  call_id text not null,
  tool_name text not null,
  input json,
  output json,
  outcome text,
  status text not null,
  latency_ms integer,
  primary key (at, id)
) partition by range (at);
create index on {schema}.tool_call (turn_id, at);
create index on {schema}.tool_call (tenant_id, at, id);

create table {schema}.llm_call (
  at timestamptz not null,
  id uuid not null,
  tenant_id uuid not null,
  -- Null for calls outside of a turn.
  turn_id uuid,
  agent text,
  step integer,
  -- reasoning, synthesis, planning, judging, routing, reflection, summary, rail, memory, node
  purpose text not null,
  -- Asked model, as `provider:model`.
  model text not null,
  provider text not null,
  -- Number of the request in a call that was tried again or fell back, from 1.
  attempt integer not null,
  messages json,
  response json,
  -- What the provider says, or why it failed.
  finish_reason text not null,
  tokens_in bigint not null default 0,
  cached_tokens bigint not null default 0,
  tokens_out bigint not null default 0,
  reasoning_tokens bigint not null default 0,
  latency_ms integer not null,
  first_token_ms integer,
  cost_usd double precision,
  primary key (at, id)
) partition by range (at);
create index on {schema}.llm_call (turn_id, at);
create index on {schema}.llm_call (tenant_id, at, id);

create table {schema}.run_event (
  at timestamptz not null,
  id uuid not null,
  tenant_id uuid not null,
  run_id uuid not null,
  -- From 1 in its run, without gaps: one fenced writer.
  seq integer not null,
  event text not null,
  data json not null,
  primary key (at, id)
) partition by range (at);
create index on {schema}.run_event (run_id, seq);

create table {schema}.audit_log (
  at timestamptz not null,
  id uuid not null,
  tenant_id uuid not null,
  -- `key:<id>`, `operator` or `system`.
  actor text not null,
  -- As in `agent.create`.
  action text not null,
  subject text not null,
  -- SHA-256 of what was there before and after; null where there was nothing.
  before_hash bytea,
  after_hash bytea,
  primary key (at, id)
) partition by range (at);
create index on {schema}.audit_log (tenant_id, at, id);

-- Keeps the rows of a table to their tenant, whose id is in the column `own`.
create function {schema}.isolate(target regclass, own text) returns void language plpgsql as $isolate$
begin
  execute format('alter table %s enable row level security, force row level security', target);
  execute format('create policy tenant on %s using (%I = (select nullif(current_setting(''app.tenant'', true), '''')::uuid))
    with check (%2$I = (select nullif(current_setting(''app.tenant'', true), '''')::uuid))', target, own);
  execute format('create policy upkeep on %s to current_user using (current_setting(''app.upkeep'', true) = ''on'')
    with check (current_setting(''app.upkeep'', true) = ''on'')', target);
end
$isolate$;

select {schema}.isolate(format('%s.%I', $schema${schema}$schema$, name)::regclass,
  case name when 'tenant' then 'id' else 'tenant_id' end)
from unnest(array['tenant', 'api_key', 'agent_definition', 'agent_instance', 'run', 'cancel_request', 'tool', 'tool_binding',
  'webhook', 'webhook_delivery', 'idempotency_key', 'usage_day', 'turn', 'tool_call', 'llm_call', 'run_event', 'audit_log']) name;

-- Creates the partitions of `first` and the `days` days after it, in UTC. Any number of callers may do so at once. A
-- partition is created on its own and attached then, which waits for no reader or writer of the table.
create function {schema}.ensure_days(parent text, days integer, first date default (now() at time zone 'UTC')::date)
returns void language plpgsql set timezone = 'UTC' as $ensure$
declare
  own constant text := $schema${schema}$schema$;
  day date;
  name name;
begin
  for day in select first + n from generate_series(0, days) n loop
    name := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
    if to_regclass(format('%s.%I', own, name)) is null then
      -- One creates at a time. Afterwards the cache of names may still lack what another has created.
      execute format('lock table %s.%I in share update exclusive mode', own, parent);
      if not exists (select from pg_class c join pg_class p on p.relnamespace = c.relnamespace
        where p.oid = to_regclass(format('%s.%I', own, parent)) and c.relname = name) then
        execute format('create table %1$s.%2$I (like %1$s.%3$I including all)', own, name, parent);
        -- Rows are reached through their table alone: a partition has no policy of its own.
        execute format('alter table %s.%I enable row level security, force row level security', own, name);
        execute format('alter table %1$s.%2$I attach partition %1$s.%3$I for values from (%4$L) to (%5$L)', own, parent, name,
          day::timestamptz, (day + 1)::timestamptz);
      end if;
    end if;
  end loop;
end
$ensure$;
