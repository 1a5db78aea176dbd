-- Which request has begun under the key. The end of a request is stored again after outages, and must not end a later one.
alter table {schema}.idempotency_key add column attempt uuid;
