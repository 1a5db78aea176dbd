-- What the stock class has in two tables, blobs and writes, stands here in logs of elements and in sets of writes.
-- A checkpoint of ours has 'null' in `checkpoint`, so that the stock class fails on it instead of reading nothing.
alter table {schema}.checkpoints
  add column if not exists body bytea,
  add column if not exists segments bigint[],
  add column if not exists hash bytea,
  add column if not exists parent_hash bytea,
  add column if not exists summary jsonb;

create table {schema}.checkpoint_elements (
  log_id bigint not null,
  idx integer not null,
  type text,
  blob bytea not null,
  primary key (log_id, idx)
);

create table {schema}.checkpoint_log_uses (
  log_id bigint not null,
  thread_id text not null,
  primary key (thread_id, log_id)
);
create index checkpoint_log_uses_log on {schema}.checkpoint_log_uses (log_id);

create table {schema}.checkpoint_write_sets (
  thread_id text not null,
  checkpoint_ns text not null,
  checkpoint_id text not null,
  task_id text not null,
  idx integer not null,
  body bytea not null,
  hash bytea not null,
  primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);

create table {schema}.checkpoint_definitions (
  hash text primary key,
  definition jsonb not null
);

-- A process takes 64 ids at a time.
create sequence {schema}.checkpoint_log_ids increment by 64;
