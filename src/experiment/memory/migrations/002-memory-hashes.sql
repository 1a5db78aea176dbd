-- SHA-256 over the run, the key and the text that was written. Null in rows from before.
alter table {schema}.experiment_memory add column hash bytea;
alter table {schema}.experiment_memory_changes add column before_hash bytea;
