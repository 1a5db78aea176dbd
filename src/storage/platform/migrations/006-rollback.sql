-- Runs that are removed with what they wrote, as LangGraph's protocol has it.

-- `asked`: the worker of the run removes its checkpoints before it ends it. `done`: the thread is as before the run.
alter table {schema}.run add column rollback text check (rollback in ('asked', 'done'));
