-- Rows belong to tenants, those from before to the tenant of all zeros, which is also that of statements without a tenant.
-- A constant default first, so that no table is written anew. No policy lets the owner read all tenants: with `or` in the
-- condition, statements of an owner who has no other role would use no index.
alter table {schema}.experiment_memory add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.experiment_memory alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.experiment_memory drop constraint experiment_memory_pkey,
  add constraint experiment_memory_pkey primary key (tenant_id, run_id, key);
alter table {schema}.experiment_memory enable row level security, force row level security;
create policy tenant on {schema}.experiment_memory
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));

alter table {schema}.experiment_memory_changes add column tenant_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table {schema}.experiment_memory_changes alter column tenant_id
  set default coalesce(nullif(current_setting('app.tenant', true), ''), '00000000-0000-0000-0000-000000000000')::uuid;
alter table {schema}.experiment_memory_changes drop constraint experiment_memory_changes_pkey,
  add constraint experiment_memory_changes_pkey primary key (tenant_id, run_id, change);
alter table {schema}.experiment_memory_changes enable row level security, force row level security;
create policy tenant on {schema}.experiment_memory_changes
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
