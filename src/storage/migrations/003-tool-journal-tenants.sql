-- Rows belong to tenants, those from before to the tenant of all zeros, which is also that of statements without a tenant.
-- A constant default first, so that no table is written anew. No policy lets the owner read all tenants: with `or` in the
-- condition, statements of an owner who has no other role would use no index.
alter table {schema}.tool_journal add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.tool_journal alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.tool_journal drop constraint tool_journal_pkey,
  add constraint tool_journal_pkey primary key (tenant_id, thread_id, run, step, call_id);
alter table {schema}.tool_journal enable row level security, force row level security;
create policy tenant on {schema}.tool_journal
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
