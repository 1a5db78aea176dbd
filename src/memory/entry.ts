import { z } from "zod";
import { isRecord } from "../values/json.ts";

/** What an entry is: a turn as it was said, what happened, a fact, or a sequence of tools that led to success. */
export const memoryTypes = ["short_term", "episodic", "semantic", "procedural"] as const;
export type MemoryType = (typeof memoryTypes)[number];

/** Who an entry comes from. */
export const memorySources = ["user", "agent", "tool", "system"] as const;
export type MemorySource = (typeof memorySources)[number];

/** Limits of an entry. A larger one is refused as a whole. */
export const memoryLimits = {
  /** Characters of the content. */
  content: 32_768,
  /** Characters of one label of a namespace. */
  label: 200,
  /** Labels of a namespace. */
  namespace: 10,
  /** Characters of a key, a thread id and an instance id. */
  key: 255,
  tags: 50,
  entities: 100,
  /** Characters of a tag or an entity. */
  name: 200,
  /** Characters of the JSON of `data` and `value`. */
  json: 262_144,
  /** Dimensions of an embedding. */
  dimensions: 4_000,
} as const;

export interface MemoryMetadata {
  readonly source: MemorySource;
  /** The run of the turn that wrote the entry; null outside of a turn. */
  readonly turn_id: string | null;
  readonly tags: readonly string[];
  /** Names, organisations, places, dates (ISO 8601) and ids that the content mentions. */
  readonly entities: readonly string[];
  /** Who said it, if that is known; matched with the names in a query. */
  readonly speaker?: string;
  /** Ids of entries that were merged into this one. */
  readonly merged?: readonly string[];
  /** Data of the writer: the steps of a procedural pattern, for example. Plain JSON. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** An entry as it is stored. Times are ISO 8601. */
export interface MemoryEntry {
  /** UUID, version 7. */
  readonly id: string;
  readonly tenant_id: string;
  /** Who remembers, from the general to the special: `["agents", "support"]`, `["agents", "support", "users", "u-1"]`. */
  readonly namespace: readonly string[];
  /** Unique in its namespace. Default: the id. */
  readonly key: string;
  /** The agent in its thread; null outside of one. */
  readonly instance_id: string | null;
  /** The session; neighbours of an entry are the adjacent ones of its thread and type. */
  readonly thread_id: string | null;
  readonly memory_type: MemoryType;
  readonly content: string;
  /** Set where consolidation has shortened the content. */
  readonly summary: string | null;
  /** The model of its vector; null while it has none. */
  readonly embedding_model: string | null;
  /** From 0 to 1. */
  readonly importance: number;
  readonly access_count: number;
  readonly last_accessed: string | null;
  /** The score of the last search that found it, from 0 to 1; null before the first. */
  readonly last_score: number | null;
  readonly metadata: MemoryMetadata;
  /** The value of a LangGraph store item; null for other entries. */
  readonly value: Readonly<Record<string, unknown>> | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly expires_at: string | null;
}

/** A vector of length 1 and the model that made it. Vectors of different models are never compared. */
export interface MemoryVector {
  readonly model: string;
  readonly vector: Float32Array;
}

/** An entry to store: `content`, and what differs from the defaults. */
export interface NewMemoryEntry {
  /** Default: a new UUID, version 7. */
  readonly id?: string;
  readonly namespace: readonly string[];
  /** Default: the id. An entry with a key that its namespace has already is not stored again. */
  readonly key?: string;
  readonly instance_id?: string | null;
  readonly thread_id?: string | null;
  /** Default `semantic`. */
  readonly memory_type?: MemoryType;
  readonly content: string;
  readonly summary?: string | null;
  /** Default 0.5. */
  readonly importance?: number;
  /** Default: source `system` and nothing else. */
  readonly metadata?: Partial<MemoryMetadata>;
  readonly value?: Readonly<Record<string, unknown>> | null;
  /** ISO 8601. Default: now. */
  readonly created_at?: string;
  /** ISO 8601. Default: never. */
  readonly expires_at?: string | null;
  readonly embedding?: MemoryVector | null;
}

const name = z.string().min(1).max(memoryLimits.name);
/** A UUID in lower case, as ids of entries and tenants are written. */
export const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const uuid = z.string().regex(uuidPattern, "expected a UUID in lower case");
const key = z.string().min(1).max(memoryLimits.key);
const time = z.iso.datetime({ offset: true });
const json = z
  .custom<Readonly<Record<string, unknown>>>(isRecord, "expected an object")
  .superRefine((value, context) => {
    const problem = isRecord(value) ? jsonProblem(value) : null;
    if (problem !== null) context.addIssue({ code: "custom", message: problem });
  });

/** Postgres stores neither NUL characters nor lone surrogates. */
export const storableText = z.string().refine((text) => !/\0|\p{Surrogate}/u.test(text), {
  message: "expected text without NUL characters and lone surrogates",
});

/** The checked form of a namespace: 1 to 10 labels. */
export const namespaceSchema = z
  .array(storableText.min(1).max(memoryLimits.label))
  .min(1)
  .max(memoryLimits.namespace);

/** Checks entries from outside: bodies of requests, files, arguments of tools. Vectors are checked by the store. */
export const newMemoryEntrySchema = z.strictObject({
  id: uuid.optional(),
  namespace: namespaceSchema,
  key: storableText.pipe(key).optional(),
  instance_id: storableText.pipe(key).nullish(),
  thread_id: storableText.pipe(key).nullish(),
  memory_type: z.enum(memoryTypes).optional(),
  content: storableText.min(1).max(memoryLimits.content),
  summary: storableText.max(memoryLimits.content).nullish(),
  importance: z.number().min(0).max(1).optional(),
  metadata: z
    .strictObject({
      source: z.enum(memorySources).optional(),
      turn_id: storableText.pipe(key).nullish(),
      tags: z.array(storableText.pipe(name)).max(memoryLimits.tags).optional(),
      entities: z.array(storableText.pipe(name)).max(memoryLimits.entities).optional(),
      speaker: storableText.pipe(name).optional(),
      merged: z.array(uuid).max(1_000).optional(),
      data: json.optional(),
    })
    .optional(),
  value: json.nullish(),
  created_at: time.optional(),
  expires_at: time.nullish(),
});

/** Levels of lists and objects in `data` and `value`. */
const maxJsonDepth = 100;

const tooLarge = `expected at most ${memoryLimits.json.toLocaleString("en")} characters of JSON`;

/**
 * Returns why a value is no plain JSON that an entry may have; null if it is. Walks without recursion and gives up at a
 * bound, so that neither depth, nor size, nor a cycle costs more.
 */
export function jsonProblem(value: object): string | null {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  let size = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value: one, depth } = next;
    size += typeof one === "string" ? one.length : 1;
    if (size > memoryLimits.json) return tooLarge;
    if (one === null || one === undefined || typeof one === "string" || typeof one === "boolean")
      continue;
    if (typeof one === "number" && Number.isFinite(one)) continue;
    if (typeof one !== "object" || !isPlain(one))
      return "expected plain JSON: texts, finite numbers, booleans, null, lists and objects";
    if (depth > maxJsonDepth) return `expected at most ${maxJsonDepth} levels`;
    for (const [property, inner] of Object.entries(one)) {
      size += Array.isArray(one) ? 0 : property.length;
      open.push({ value: inner, depth: depth + 1 });
    }
  }
  return JSON.stringify(value).length > memoryLimits.json ? tooLarge : null;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
