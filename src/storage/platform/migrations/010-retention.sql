-- What was moved out of the database into archives, one row an archive. There is no cascade: a tenant is deleted after its
-- objects.
create table {schema}.archive (
  id uuid primary key,
  tenant_id uuid not null references {schema}.tenant,
  -- `thread`, or the table of which a day was archived.
  subject text not null check (subject in ('thread', 'turn', 'tool_call', 'llm_call', 'run_event', 'audit_log')),
  -- Of a thread.
  thread_id text,
  -- In UTC, of rows.
  day date,
  -- `writing`: objects may be incomplete. `stored`: they were read back, and what they hold may still be in the tables.
  -- `archived`: it is in the archive alone. `restoring`: it may be in the tables again. `restored`: it is, and the objects
  -- are to be removed. `removing`: the archive is past its limit, or its thread was deleted.
  state text not null default 'writing'
    check (state in ('writing', 'stored', 'archived', 'restoring', 'restored', 'removing')),
  -- Version of the format of the objects.
  format integer not null,
  -- [{ bytes, raw_bytes, sha256, lines, key_id }]: an object each, in their order.
  parts jsonb not null default '[]',
  rows bigint not null default 0,
  bytes bigint not null default 0,
  -- Ids of the first and the last row, or checkpoint.
  first_id text,
  last_id text,
  -- Time of the newest row: the age of an archive counts from here.
  last_at timestamptz,
  -- Of a thread: a hash over its checkpoints and pending writes. One that has changed since is not removed.
  fingerprint text,
  -- What was restored is not archived again before this.
  hold_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((subject = 'thread') = (thread_id is not null) and (subject = 'thread') = (day is null))
);
create index on {schema}.archive (tenant_id, id);
create index on {schema}.archive (tenant_id, thread_id) where thread_id is not null;
create index on {schema}.archive (tenant_id, subject, day) where day is not null;
create index on {schema}.archive (tenant_id, subject, last_at) where state = 'archived';

-- How far retention has come in a tenant, and what its last round did.
create table {schema}.retention_state (
  tenant_id uuid primary key references {schema}.tenant on delete cascade,
  -- Checkpoints of idle threads are thinned in the order of their last checkpoint: the last one that was.
  thinned_until text not null default '',
  last_round jsonb,
  updated_at timestamptz not null
);

select {schema}.isolate(format('%s.%I', $schema${schema}$schema$, name)::regclass, 'tenant_id')
from unnest(array['archive', 'retention_state']) name;
