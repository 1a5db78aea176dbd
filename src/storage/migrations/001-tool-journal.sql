-- One row a tool call, from when it begins.
create table {schema}.tool_journal (
  thread_id text,
  run text,
  step integer,
  call_id text,
  tool text not null,
  -- SHA-256 of the tool's name and the arguments: other arguments under the same key are another call.
  input_hash bytea not null,
  -- Different each time a row begins: tells whoever writes it whether it was there before.
  beginning uuid not null,
  started_at timestamptz not null default now(),
  ended_at timestamptz,
  -- How it ended, as the serializer has it; null until then. Not jsonb, which holds neither NUL nor lone surrogates.
  end_type text,
  end_body bytea,
  primary key (thread_id, run, step, call_id)
);
