-- Claims look at each tenant's runs apart, in the order in which they are taken.
create index run_queue on {schema}.run (tenant_id, priority desc, run_at, id) where state = 'queued';
drop index if exists {schema}.run_priority_run_at_id_idx;
