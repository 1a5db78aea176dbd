-- Messages for the turns of a thread. They are kept until a completed turn contains them.
alter table {schema}.thread_event add column is_message boolean not null default false;
-- Senders hold the lock of the thread: its messages have the order of their numbers, whatever the clocks of servers say.
alter table {schema}.thread_event add column seq bigint generated always as identity;
create index on {schema}.thread_event (instance_id, seq) where is_message and delivered_at is null;
