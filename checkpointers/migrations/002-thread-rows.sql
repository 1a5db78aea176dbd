-- One row for each thread, so that listing threads reads none of their checkpoints. Triggers maintain it, so that it
-- follows every writer: this version, an older one that still runs, the stock saver, and changes by hand.
create table {schema}.checkpoint_threads (
  thread_id text primary key,
  -- All checkpoints, those of subgraphs included: the row goes with the last of them.
  entries integer not null,
  -- Checkpoints of the graph itself.
  checkpoints integer not null,
  bytes numeric not null,
  -- The newest checkpoint of the graph itself, null where only subgraphs have any, and what its summary says.
  last_id text,
  status text,
  agent text
);
create index checkpoint_threads_updated on {schema}.checkpoint_threads (last_id, thread_id);
create index checkpoint_threads_status on {schema}.checkpoint_threads (status, last_id, thread_id);
create index checkpoint_threads_agent on {schema}.checkpoint_threads (agent, last_id, thread_id);

-- What a summary says, where it has the type that it should have. Labels are cut, to fit into an index with two ids.
create function {schema}.checkpoint_bytes(summary jsonb) returns numeric immutable parallel safe language sql
return case jsonb_typeof(summary -> 'bytes') when 'number' then (summary ->> 'bytes')::numeric else 0 end;
create function {schema}.checkpoint_label(summary jsonb, name text) returns text immutable parallel safe language sql
return case jsonb_typeof(summary -> name) when 'string' then left(summary ->> name, 128) end;

create function {schema}.checkpoints_changed() returns trigger language plpgsql
set search_path = {schema}, pg_temp as $body$
declare
  changed text := case tg_op
    when 'INSERT' then 'select 1 as sign, * from added'
    when 'DELETE' then 'select -1 as sign, * from removed'
    else 'select 1 as sign, * from added union all select -1 as sign, * from removed'
  end;
  ids text[];
begin
  if tg_op = 'INSERT' then
    -- A put adds one checkpoint, and is to cost little.
    if not exists (select from added offset 1) then
      insert into checkpoint_threads as t (thread_id, entries, checkpoints, bytes, last_id, status, agent)
      select thread_id, 1, case when checkpoint_ns = '' then 1 else 0 end, checkpoint_bytes(summary),
        case when checkpoint_ns = '' then checkpoint_id end,
        case when checkpoint_ns = '' then checkpoint_label(summary, 'status') end,
        case when checkpoint_ns = '' then checkpoint_label(summary, 'agent') end
      from added
      on conflict (thread_id) do update set
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
      insert into checkpoint_threads as t (thread_id, entries, checkpoints, bytes)
      select thread_id, sum(sign), coalesce(sum(sign) filter (where checkpoint_ns = %L), 0), sum(sign * checkpoint_bytes(summary))
      from (%s) c group by thread_id order by thread_id
      on conflict (thread_id) do update set
        entries = t.entries + excluded.entries, checkpoints = t.checkpoints + excluded.checkpoints, bytes = t.bytes + excluded.bytes
      returning thread_id
    ) select array_agg(thread_id) from counted', '', changed) into ids;
  delete from checkpoint_threads where thread_id = any(ids) and entries <= 0;
  -- The rows are locked now, so this statement sees every checkpoint that they count.
  update checkpoint_threads t set last_id = newest.checkpoint_id,
    status = checkpoint_label(newest.summary, 'status'), agent = checkpoint_label(newest.summary, 'agent')
  from unnest(ids) given (thread_id) left join lateral (
    select c.checkpoint_id, c.summary from checkpoints c
    where c.thread_id = given.thread_id and c.checkpoint_ns = '' order by c.checkpoint_id desc limit 1
  ) newest on true
  where t.thread_id = given.thread_id and (t.last_id, t.status, t.agent) is distinct from
    (newest.checkpoint_id, checkpoint_label(newest.summary, 'status'), checkpoint_label(newest.summary, 'agent'));
  return null;
end
$body$;

create function {schema}.checkpoints_truncated() returns trigger language plpgsql
set search_path = {schema}, pg_temp as $body$
begin
  truncate checkpoint_threads;
  return null;
end
$body$;

create trigger checkpoints_added after insert on {schema}.checkpoints
  referencing new table as added for each statement execute function {schema}.checkpoints_changed();
create trigger checkpoints_updated after update on {schema}.checkpoints
  referencing old table as removed new table as added for each statement execute function {schema}.checkpoints_changed();
create trigger checkpoints_removed after delete on {schema}.checkpoints
  referencing old table as removed for each statement execute function {schema}.checkpoints_changed();
create trigger checkpoints_truncated after truncate on {schema}.checkpoints
  for each statement execute function {schema}.checkpoints_truncated();

-- Creating a trigger keeps writers out until this is committed, so no checkpoint is missed or counted twice.
insert into {schema}.checkpoint_threads (thread_id, entries, checkpoints, bytes, last_id, status, agent)
select t.thread_id, t.entries, t.checkpoints, t.bytes, t.last_id,
  {schema}.checkpoint_label(newest.summary, 'status'), {schema}.checkpoint_label(newest.summary, 'agent')
from (
  select thread_id, count(*) as entries, count(*) filter (where checkpoint_ns = '') as checkpoints,
    sum({schema}.checkpoint_bytes(summary)) as bytes, max(checkpoint_id) filter (where checkpoint_ns = '') as last_id
  from {schema}.checkpoints group by thread_id
) t left join {schema}.checkpoints newest
  on newest.thread_id = t.thread_id and newest.checkpoint_ns = '' and newest.checkpoint_id = t.last_id;
