-- Numbers of runs are not given again: those of events of a thread begin with them, and clients read on after a number.

-- The highest number of a removed run; 0 without one.
alter table {schema}.agent_instance add column removed_seq integer not null default 0;
