-- SHA-256 over what was written when a call began, and when it ended. Null in rows from before.
alter table {schema}.tool_journal add column begin_hash bytea, add column end_hash bytea;
