-- Secrets of tenants, which tools refer to by name. No route reads a value.
create table {schema}.secret (
  tenant_id uuid not null references {schema}.tenant on delete cascade,
  name text not null,
  -- Sealed where values are.
  value json not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, name)
);
select {schema}.isolate(format('%s.%I', $schema${schema}$schema$, 'secret')::regclass, 'tenant_id');
