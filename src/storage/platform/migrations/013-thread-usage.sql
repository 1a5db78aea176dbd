-- What the turns of a thread have spent, so that lists of threads read no turns.
alter table {schema}.agent_instance
  add column tokens_in bigint not null default 0,
  add column tokens_out bigint not null default 0,
  -- Calls without a known price count as nothing.
  add column cost_usd double precision not null default 0;
update {schema}.agent_instance i set tokens_in = t.tokens_in, tokens_out = t.tokens_out, cost_usd = t.cost_usd
from (
  select instance_id, sum(tokens_in) as tokens_in, sum(tokens_out) as tokens_out, coalesce(sum(cost_usd), 0) as cost_usd
  from {schema}.turn group by instance_id
) t where t.instance_id = i.id;
