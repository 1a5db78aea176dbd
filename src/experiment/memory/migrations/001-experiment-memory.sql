-- What agents of experiments keep from cycle to cycle. One row a text.
create table {schema}.experiment_memory (
  run_id text,
  -- By bytes, so that no locale decides on the index.
  key text collate "C",
  value text not null,
  -- Number of the change that wrote it.
  change integer not null,
  updated_at timestamptz not null default now(),
  primary key (run_id, key)
);

-- How to take changes back: one row for each that was made, until it is taken back. Counted from 1 in each run.
create table {schema}.experiment_memory_changes (
  run_id text,
  change integer,
  key text collate "C" not null,
  -- Value before the change; null where there was none.
  before text,
  made_at timestamptz not null default now(),
  primary key (run_id, change)
);
