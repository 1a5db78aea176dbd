-- Rows belong to tenants, those from before to the tenant of all zeros, which is also that of statements without a tenant.
-- A constant default first, so that no table is written anew. No policy lets the owner read all tenants: with `or` in the
-- condition, statements of an owner who has no other role would use no index.
alter table {schema}.attachment_uses drop constraint attachment_uses_sha256_fkey;

alter table {schema}.checkpoints add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.checkpoints alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.checkpoints drop constraint checkpoints_pkey,
  add constraint checkpoints_pkey primary key (tenant_id, thread_id, checkpoint_ns, checkpoint_id);

alter table {schema}.checkpoint_blobs add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.checkpoint_blobs alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.checkpoint_blobs drop constraint checkpoint_blobs_pkey,
  add constraint checkpoint_blobs_pkey primary key (tenant_id, thread_id, checkpoint_ns, channel, version);

alter table {schema}.checkpoint_writes add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.checkpoint_writes alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.checkpoint_writes drop constraint checkpoint_writes_pkey,
  add constraint checkpoint_writes_pkey primary key (tenant_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx);

alter table {schema}.checkpoint_elements add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.checkpoint_elements alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.checkpoint_elements drop constraint checkpoint_elements_pkey,
  add constraint checkpoint_elements_pkey primary key (tenant_id, log_id, idx);

alter table {schema}.checkpoint_log_uses add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.checkpoint_log_uses alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.checkpoint_log_uses drop constraint checkpoint_log_uses_pkey,
  add constraint checkpoint_log_uses_pkey primary key (tenant_id, thread_id, log_id);

alter table {schema}.checkpoint_write_sets add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.checkpoint_write_sets alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.checkpoint_write_sets drop constraint checkpoint_write_sets_pkey,
  add constraint checkpoint_write_sets_pkey primary key (tenant_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx);

alter table {schema}.checkpoint_definitions add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.checkpoint_definitions alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.checkpoint_definitions drop constraint checkpoint_definitions_pkey,
  add constraint checkpoint_definitions_pkey primary key (tenant_id, hash);

alter table {schema}.checkpoint_threads add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.checkpoint_threads alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.checkpoint_threads drop constraint checkpoint_threads_pkey,
  add constraint checkpoint_threads_pkey primary key (tenant_id, thread_id);

alter table {schema}.attachments add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.attachments alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.attachments drop constraint attachments_pkey,
  add constraint attachments_pkey primary key (tenant_id, sha256);

alter table {schema}.attachment_uses add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.attachment_uses alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.attachment_uses drop constraint attachment_uses_pkey,
  add constraint attachment_uses_pkey primary key (tenant_id, thread_id, sha256);

alter table {schema}.attachment_uses add constraint attachment_uses_sha256_fkey
  foreign key (tenant_id, sha256) references {schema}.attachments;
drop index {schema}.attachment_uses_sha256;
create index attachment_uses_sha256 on {schema}.attachment_uses (tenant_id, sha256);
drop index {schema}.checkpoint_log_uses_log;
create index checkpoint_log_uses_log on {schema}.checkpoint_log_uses (tenant_id, log_id);
drop index {schema}.checkpoint_threads_updated, {schema}.checkpoint_threads_status, {schema}.checkpoint_threads_agent;
create index checkpoint_threads_updated on {schema}.checkpoint_threads (tenant_id, last_id, thread_id);
create index checkpoint_threads_status on {schema}.checkpoint_threads (tenant_id, status, last_id, thread_id);
create index checkpoint_threads_agent on {schema}.checkpoint_threads (tenant_id, agent, last_id, thread_id);

create or replace function {schema}.checkpoints_changed() returns trigger language plpgsql
set search_path = {schema}, pg_temp as $body$
declare
  changed text := case tg_op
    when 'INSERT' then 'select 1 as sign, * from added'
    when 'DELETE' then 'select -1 as sign, * from removed'
    else 'select 1 as sign, * from added union all select -1 as sign, * from removed'
  end;
  tenants uuid[];
  ids text[];
begin
  if tg_op = 'INSERT' then
    -- A put adds one checkpoint, and is to cost little.
    if not exists (select from added offset 1) then
      insert into checkpoint_threads as t (tenant_id, thread_id, entries, checkpoints, bytes, last_id, status, agent)
      select tenant_id, thread_id, 1, case when checkpoint_ns = '' then 1 else 0 end, checkpoint_bytes(summary),
        case when checkpoint_ns = '' then checkpoint_id end,
        case when checkpoint_ns = '' then checkpoint_label(summary, 'status') end,
        case when checkpoint_ns = '' then checkpoint_label(summary, 'agent') end
      from added
      on conflict (tenant_id, thread_id) do update set
        entries = t.entries + excluded.entries, checkpoints = t.checkpoints + excluded.checkpoints, bytes = t.bytes + excluded.bytes,
        last_id = case when excluded.last_id >= coalesce(t.last_id, '') then excluded.last_id else t.last_id end,
        status = case when excluded.last_id >= coalesce(t.last_id, '') then excluded.status else t.status end,
        agent = case when excluded.last_id >= coalesce(t.last_id, '') then excluded.agent else t.agent end;
      return null;
    end if;
  elsif tg_op = 'UPDATE' then
    if not exists (select from added) then return null; end if;
  end if;
  -- In one order, so that two statements which change several threads cannot wait for each other.
  execute format('with counted as (
      insert into checkpoint_threads as t (tenant_id, thread_id, entries, checkpoints, bytes)
      select tenant_id, thread_id, sum(sign), coalesce(sum(sign) filter (where checkpoint_ns = %L), 0), sum(sign * checkpoint_bytes(summary))
      from (%s) c group by tenant_id, thread_id order by tenant_id, thread_id
      on conflict (tenant_id, thread_id) do update set
        entries = t.entries + excluded.entries, checkpoints = t.checkpoints + excluded.checkpoints, bytes = t.bytes + excluded.bytes
      returning tenant_id, thread_id
    ) select array_agg(tenant_id), array_agg(thread_id) from counted', '', changed) into tenants, ids;
  delete from checkpoint_threads t using unnest(tenants, ids) given (tenant_id, thread_id)
  where t.tenant_id = given.tenant_id and t.thread_id = given.thread_id and t.entries <= 0;
  -- The rows are locked now, so this statement sees every checkpoint that they count.
  update checkpoint_threads t set last_id = newest.checkpoint_id,
    status = checkpoint_label(newest.summary, 'status'), agent = checkpoint_label(newest.summary, 'agent')
  from unnest(tenants, ids) given (tenant_id, thread_id) left join lateral (
    select c.checkpoint_id, c.summary from checkpoints c
    where c.tenant_id = given.tenant_id and c.thread_id = given.thread_id and c.checkpoint_ns = '' order by c.checkpoint_id desc limit 1
  ) newest on true
  where t.tenant_id = given.tenant_id and t.thread_id = given.thread_id and (t.last_id, t.status, t.agent) is distinct from
    (newest.checkpoint_id, checkpoint_label(newest.summary, 'status'), checkpoint_label(newest.summary, 'agent'));
  return null;
end
$body$;

create or replace function {schema}.checkpoints_truncated() returns trigger language plpgsql
set search_path = {schema}, pg_temp as $body$
begin
  truncate checkpoint_threads;
  return null;
end
$body$;

alter table {schema}.checkpoints enable row level security, force row level security;
create policy tenant on {schema}.checkpoints
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
alter table {schema}.checkpoint_blobs enable row level security, force row level security;
create policy tenant on {schema}.checkpoint_blobs
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
alter table {schema}.checkpoint_writes enable row level security, force row level security;
create policy tenant on {schema}.checkpoint_writes
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
alter table {schema}.checkpoint_elements enable row level security, force row level security;
create policy tenant on {schema}.checkpoint_elements
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
alter table {schema}.checkpoint_log_uses enable row level security, force row level security;
create policy tenant on {schema}.checkpoint_log_uses
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
alter table {schema}.checkpoint_write_sets enable row level security, force row level security;
create policy tenant on {schema}.checkpoint_write_sets
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
alter table {schema}.checkpoint_definitions enable row level security, force row level security;
create policy tenant on {schema}.checkpoint_definitions
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
alter table {schema}.checkpoint_threads enable row level security, force row level security;
create policy tenant on {schema}.checkpoint_threads
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
alter table {schema}.attachments enable row level security, force row level security;
create policy tenant on {schema}.attachments
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
alter table {schema}.attachment_uses enable row level security, force row level security;
create policy tenant on {schema}.attachment_uses
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
