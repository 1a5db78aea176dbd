import { memoryLimits, memorySources, memoryTypes, namespaceSchema } from "../entry.ts";
import { InvalidMemoryError } from "../errors.ts";
import type { MemoryQuery } from "../memory.ts";
import type { MemoryFilter } from "../store.ts";

const filterKeys = [
  "namespace",
  "exact",
  "types",
  "threadId",
  "instanceId",
  "source",
  "tags",
  "since",
  "until",
] as const;

/** Returns the part of a checked query that a store reads, with times as stores take them. */
export function filterOf(query: MemoryQuery): MemoryFilter {
  const { since, until } = query;
  const given = filterKeys.flatMap((key) => (query[key] === undefined ? [] : [[key, query[key]]]));
  return {
    ...Object.fromEntries(given),
    ...(since !== undefined && { since: timeOf(since) }),
    ...(until !== undefined && { until: timeOf(until) }),
  };
}

const earliest = Date.parse("0001-01-01T00:00:00.000Z");
const latest = Date.parse("9999-12-31T23:59:59.999Z");

/** A time of the years 1 to 9999: models write `0000-01-01` and `9999-12-31` for no limit. */
function timeOf(time: string): string {
  return new Date(Math.min(Math.max(Date.parse(time), earliest), latest)).toISOString();
}

/** @throws InvalidMemoryError with all problems of the query */
export function checkQuery(query: MemoryQuery): void {
  const problems: string[] = [];
  const { text, topK, minScore, namespace, types, source, tags, weights, except } = query;
  if (typeof text !== "string") problems.push("expected a text, in words");
  const checked = namespaceSchema.safeParse(namespace);
  if (!checked.success) {
    problems.push(`expected a namespace of 1 to ${memoryLimits.namespace} labels`);
  }
  if (topK !== undefined && !(Number.isInteger(topK) && topK >= 1 && topK <= 100)) {
    problems.push(`expected topK from 1 to 100, got ${topK}`);
  }
  if (minScore !== undefined && !(minScore >= 0 && minScore <= 1)) {
    problems.push(`expected minScore from 0 to 1, got ${minScore}`);
  }
  for (const type of [...(types ?? []), ...(except?.types ?? [])]) {
    if (!memoryTypes.includes(type)) problems.push(`there is no type ${JSON.stringify(type)}`);
  }
  if (source !== undefined && !memorySources.includes(source)) {
    problems.push(`there is no source ${JSON.stringify(source)}`);
  }
  if ((tags?.length ?? 0) > memoryLimits.tags) {
    problems.push(`expected at most ${memoryLimits.tags} tags`);
  }
  for (const key of ["since", "until"] as const) {
    const time = query[key];
    if (time !== undefined && Number.isNaN(Date.parse(time))) {
      problems.push(`expected ${key} as ISO 8601, got ${JSON.stringify(time)}`);
    }
  }
  for (const [key, weight] of Object.entries(weights ?? {})) {
    if (!(Number.isFinite(weight) && weight >= 0)) {
      problems.push(`expected the weight ${key} as a number of 0 or more, got ${String(weight)}`);
    }
  }
  if (problems.length > 0) throw new InvalidMemoryError("query", problems);
}
