-- The bytes of attachments, each once, whichever threads and checkpoints refer to them.
create table {schema}.attachments (
  -- SHA-256 of the bytes, in hex.
  sha256 text primary key,
  mime_type text not null,
  -- The bytes as the serializer has them.
  type text not null,
  body bytea not null,
  created_at timestamptz not null default now()
);
alter table {schema}.attachments alter column body set storage external;

-- The threads that refer to an attachment. It is removed with the last of them.
create table {schema}.attachment_uses (
  thread_id text not null,
  sha256 text not null references {schema}.attachments,
  primary key (thread_id, sha256)
);
create index attachment_uses_sha256 on {schema}.attachment_uses (sha256);
