-- Entries of all tenants. The key is hashed, since a namespace may be longer than an index takes.
create table {schema}.memory_entry (
  tenant_id uuid not null,
  id uuid not null,
  namespace text[] not null,
  -- The beginning of the namespace with a separator after each label, for ranges of an index.
  path text collate "C" not null,
  key text not null,
  -- SHA-256 of namespace and key.
  key_hash bytea not null,
  instance_id text,
  thread_id text,
  memory_type text not null check (memory_type in ('short_term', 'episodic', 'semantic', 'procedural')),
  content text not null,
  summary text,
  importance double precision not null check (importance between 0 and 1),
  access_count integer not null default 0,
  last_accessed timestamptz,
  last_score double precision,
  -- Without `data`, which may hold texts that jsonb refuses.
  metadata jsonb not null,
  data json,
  value json,
  -- 32-bit floats, little-endian: what every other form of the vector is made from.
  embedding bytea,
  embedding_model text,
  dimensions integer,
  -- Whether the vector is in the table of the vector extension.
  is_indexed boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz,
  -- The transaction of the last write: readers continue from the oldest one that was running.
  changed xid8 not null default pg_current_xact_id(),
  primary key (tenant_id, id),
  unique (tenant_id, key_hash),
  check ((embedding is null) = (embedding_model is null) and (embedding is null) = (dimensions is null))
) partition by hash (tenant_id);

create table {schema}.memory_entry_0 partition of {schema}.memory_entry for values with (modulus 8, remainder 0);
create table {schema}.memory_entry_1 partition of {schema}.memory_entry for values with (modulus 8, remainder 1);
create table {schema}.memory_entry_2 partition of {schema}.memory_entry for values with (modulus 8, remainder 2);
create table {schema}.memory_entry_3 partition of {schema}.memory_entry for values with (modulus 8, remainder 3);
create table {schema}.memory_entry_4 partition of {schema}.memory_entry for values with (modulus 8, remainder 4);
create table {schema}.memory_entry_5 partition of {schema}.memory_entry for values with (modulus 8, remainder 5);
create table {schema}.memory_entry_6 partition of {schema}.memory_entry for values with (modulus 8, remainder 6);
create table {schema}.memory_entry_7 partition of {schema}.memory_entry for values with (modulus 8, remainder 7);

create index on {schema}.memory_entry (instance_id, memory_type, importance desc);
create index on {schema}.memory_entry (tenant_id, created_at, id);
create index on {schema}.memory_entry (tenant_id, path, created_at, id);
create index on {schema}.memory_entry (tenant_id, thread_id, created_at, id) where thread_id is not null;
create index on {schema}.memory_entry (tenant_id, changed, id);
create index on {schema}.memory_entry (tenant_id, expires_at) where expires_at is not null;
create index on {schema}.memory_entry (tenant_id) where embedding is not null and not is_indexed;

-- Entries that consolidation has evicted.
create table {schema}.memory_archive (like {schema}.memory_entry including defaults);
alter table {schema}.memory_archive add column archived_at timestamptz not null, add primary key (tenant_id, id);
create index on {schema}.memory_archive (tenant_id, path, created_at, id);

-- Entries that went into contexts: a run counts once.
create table {schema}.memory_use (
  tenant_id uuid not null,
  entry_id uuid not null,
  run text not null,
  thread_id text,
  at timestamptz not null,
  score double precision not null,
  primary key (tenant_id, entry_id, run)
);

-- The dimensions of each model's vectors.
create table {schema}.memory_model (
  tenant_id uuid not null,
  model text not null,
  dimensions integer not null,
  primary key (tenant_id, model)
);

alter table {schema}.memory_entry enable row level security, force row level security;
create policy tenant on {schema}.memory_entry
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
create policy upkeep on {schema}.memory_entry to current_user
  using (current_setting('app.upkeep', true) = 'on') with check (current_setting('app.upkeep', true) = 'on');
alter table {schema}.memory_archive enable row level security, force row level security;
create policy tenant on {schema}.memory_archive
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
create policy upkeep on {schema}.memory_archive to current_user
  using (current_setting('app.upkeep', true) = 'on') with check (current_setting('app.upkeep', true) = 'on');
alter table {schema}.memory_use enable row level security, force row level security;
create policy tenant on {schema}.memory_use
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
create policy upkeep on {schema}.memory_use to current_user
  using (current_setting('app.upkeep', true) = 'on') with check (current_setting('app.upkeep', true) = 'on');
alter table {schema}.memory_model enable row level security, force row level security;
create policy tenant on {schema}.memory_model
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
create policy upkeep on {schema}.memory_model to current_user
  using (current_setting('app.upkeep', true) = 'on') with check (current_setting('app.upkeep', true) = 'on');

-- Partitions have no policy: rows are reached through their table alone.
alter table {schema}.memory_entry_0 enable row level security, force row level security;
alter table {schema}.memory_entry_1 enable row level security, force row level security;
alter table {schema}.memory_entry_2 enable row level security, force row level security;
alter table {schema}.memory_entry_3 enable row level security, force row level security;
alter table {schema}.memory_entry_4 enable row level security, force row level security;
alter table {schema}.memory_entry_5 enable row level security, force row level security;
alter table {schema}.memory_entry_6 enable row level security, force row level security;
alter table {schema}.memory_entry_7 enable row level security, force row level security;
