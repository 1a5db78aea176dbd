-- As migration 004 has it, but for the threads of several rows: one at a time.
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
  -- The rows are locked now, so these statements see every checkpoint that they count. One thread at a time: a plan for
  -- arrays, made without their lengths, would read all threads.
  for place in 1 .. coalesce(cardinality(ids), 0) loop
    delete from checkpoint_threads t where t.tenant_id = tenants[place] and t.thread_id = ids[place] and t.entries <= 0;
    continue when found;
    update checkpoint_threads t set last_id = newest.checkpoint_id,
      status = checkpoint_label(newest.summary, 'status'), agent = checkpoint_label(newest.summary, 'agent')
    from (values (null)) one left join lateral (
      select c.checkpoint_id, c.summary from checkpoints c
      where c.tenant_id = tenants[place] and c.thread_id = ids[place] and c.checkpoint_ns = '' order by c.checkpoint_id desc limit 1
    ) newest on true
    where t.tenant_id = tenants[place] and t.thread_id = ids[place] and (t.last_id, t.status, t.agent) is distinct from
      (newest.checkpoint_id, checkpoint_label(newest.summary, 'status'), checkpoint_label(newest.summary, 'agent'));
  end loop;
  return null;
end
$body$;
