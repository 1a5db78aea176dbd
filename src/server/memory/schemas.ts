import { z } from "zod";
import {
  type MemoryEntry,
  memoryLimits,
  memorySources,
  memoryTypes,
  storableText,
} from "../../memory/entry.ts";

export const userText = storableText.min(1).max(memoryLimits.label);
export const threadText = storableText.min(1).max(memoryLimits.key);
export const nameText = storableText.min(1).max(memoryLimits.name);
export const memoryType = z.enum(memoryTypes);

export const agentParams = z.strictObject({
  agent_id: z.string().min(1).max(100).describe("Id of the agent."),
});
export const entryParams = agentParams.extend({
  entry_id: z.string().min(1).max(100).describe("Id of the entry."),
});

const metadataSchema = z.strictObject({
  source: z.enum(memorySources).optional().describe("Default: user."),
  tags: z.array(nameText).max(memoryLimits.tags).optional(),
  entities: z
    .array(nameText)
    .max(memoryLimits.entities)
    .optional()
    .describe("Default: those that rules find in the content."),
  speaker: nameText.optional(),
  data: z.record(z.string(), z.unknown()).optional(),
});

export const addSchema = z
  .strictObject({
    content: storableText.min(1).max(memoryLimits.content),
    memory_type: memoryType.default("semantic"),
    thread_id: threadText.nullish(),
    user: userText.nullish().describe("Whose memory it is. Default: of no user."),
    importance: z.number().min(0).max(1).optional().describe("Default: 0.5."),
    metadata: metadataSchema.nullish(),
    expires_at: z.iso.datetime({ offset: true }).nullish(),
  })
  .meta({ id: "NewMemory" });

export const querySchema = z
  .strictObject({
    query: storableText.min(1).max(8_000),
    thread_id: threadText.nullish().describe("Default: all threads."),
    user: userText.nullish().describe("Default: entries of no user, as a turn without one."),
    memory_types: z.array(memoryType).max(memoryTypes.length).nullish(),
    top_k: z.int().min(1).max(100).default(5),
    min_score: z.number().min(0).max(1).default(0),
  })
  .meta({ id: "MemoryQuery" });

export const consolidateSchema = z
  .strictObject({
    strategy: z.enum(["importance", "age", "hybrid"]).optional(),
    max_entries: z.int().min(1).max(100_000).optional().describe("Candidates at most."),
    thread_id: threadText.nullish().describe("Default: all threads of the agent."),
    user: userText.nullish().describe("Default: all users, each by itself."),
  })
  .meta({ id: "MemoryConsolidation" });

const share = z.number().min(0).max(1);
const entryFields = {
  id: z.string(),
  memory_type: memoryType,
  content: z.string(),
  summary: z.string().nullable().describe("Set where consolidation has shortened the content."),
  user: z.string().nullable(),
  thread_id: z.string().nullable(),
  importance: share,
  access_count: z.int(),
  last_accessed: z.iso.datetime().nullable(),
  metadata: z.looseObject({
    source: z.enum(memorySources),
    turn_id: z.string().nullable(),
    tags: z.array(z.string()),
    entities: z.array(z.string()),
  }),
  embedding_model: z.string().nullable().describe("Null: found by its words alone."),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
};
export const entrySchema = z.strictObject(entryFields).meta({ id: "MemoryEntry" });
export const hitSchema = z
  .strictObject({
    ...entryFields,
    score: share,
    why: z.strictObject({
      keyword: z.number(),
      meaning: z.number().nullable(),
      neighbours: z.number(),
      session: z.number(),
      importance: z.number(),
      recency: z.number(),
      terms: z.array(z.string()),
      entities: z.array(z.string()),
    }),
  })
  .meta({ id: "MemoryHit" });
export const forgottenSchema = z
  .strictObject({
    entries: z.int(),
    archived: z.int().describe("Archived copies."),
    uses: z.int().describe("References from contexts of threads, which show nothing then."),
    threads: z.array(z.string()).describe("Threads that used the entries, at most 100."),
  })
  .meta({ id: "ForgottenMemory" });

export const consolidatedSchema = z
  .strictObject({
    consolidated: z.int(),
    merged: z.int(),
    evicted: z.int(),
    archived: z.int(),
    left: z.int().describe("Left as they were; the next call does them."),
    busy: z.int().describe("Threads that another process was consolidating."),
  })
  .meta({ id: "MemoryConsolidated" });

/** An entry as routes show it. */
export function entryOf(entry: MemoryEntry) {
  const [, , users, user] = entry.namespace;
  return {
    id: entry.id,
    memory_type: entry.memory_type,
    content: entry.content,
    summary: entry.summary,
    user: users === "users" ? (user ?? null) : null,
    thread_id: entry.thread_id,
    importance: entry.importance,
    access_count: entry.access_count,
    last_accessed: entry.last_accessed,
    metadata: entry.metadata,
    embedding_model: entry.embedding_model,
    created_at: entry.created_at,
    updated_at: entry.updated_at,
    expires_at: entry.expires_at,
  };
}
