-- Vectors of entries as the vector extension searches them, {vector} its schema. Removed with their entries.
create table {schema}.memory_vector (
  tenant_id uuid not null,
  id uuid not null,
  model text not null,
  dimensions integer not null,
  embedding {vector}.halfvec not null,
  primary key (tenant_id, id),
  foreign key (tenant_id, id) references {schema}.memory_entry on delete cascade
) partition by hash (tenant_id);

create table {schema}.memory_vector_0 partition of {schema}.memory_vector for values with (modulus 8, remainder 0);
create table {schema}.memory_vector_1 partition of {schema}.memory_vector for values with (modulus 8, remainder 1);
create table {schema}.memory_vector_2 partition of {schema}.memory_vector for values with (modulus 8, remainder 2);
create table {schema}.memory_vector_3 partition of {schema}.memory_vector for values with (modulus 8, remainder 3);
create table {schema}.memory_vector_4 partition of {schema}.memory_vector for values with (modulus 8, remainder 4);
create table {schema}.memory_vector_5 partition of {schema}.memory_vector for values with (modulus 8, remainder 5);
create table {schema}.memory_vector_6 partition of {schema}.memory_vector for values with (modulus 8, remainder 6);
create table {schema}.memory_vector_7 partition of {schema}.memory_vector for values with (modulus 8, remainder 7);

alter table {schema}.memory_vector enable row level security, force row level security;
create policy tenant on {schema}.memory_vector
  using (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('app.tenant', true), '')::uuid));
create policy upkeep on {schema}.memory_vector to current_user
  using (current_setting('app.upkeep', true) = 'on') with check (current_setting('app.upkeep', true) = 'on');

-- Partitions have no policy: rows are reached through their table alone.
alter table {schema}.memory_vector_0 enable row level security, force row level security;
alter table {schema}.memory_vector_1 enable row level security, force row level security;
alter table {schema}.memory_vector_2 enable row level security, force row level security;
alter table {schema}.memory_vector_3 enable row level security, force row level security;
alter table {schema}.memory_vector_4 enable row level security, force row level security;
alter table {schema}.memory_vector_5 enable row level security, force row level security;
alter table {schema}.memory_vector_6 enable row level security, force row level security;
alter table {schema}.memory_vector_7 enable row level security, force row level security;
