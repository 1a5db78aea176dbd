import { z } from "zod";
import { placeholderPattern } from "../../guardrails/known-values.ts";
import type { MemoryEntry } from "../../memory/entry.ts";

/** A sequence of tools that led to success, as procedural entries have it in `metadata.data.pattern`. */
const patternSchema = z.object({
  name: z.string().min(1).max(200),
  steps: z
    .array(
      z.object({
        tool: z.string().min(1).max(200),
        arguments: z.array(z.string().max(200)).max(50).default([]),
      }),
    )
    .min(1)
    .max(50),
  frequency: z.number().min(0),
});

function patternOf({ metadata }: MemoryEntry): z.output<typeof patternSchema> | null {
  const { data } = metadata;
  if (data === undefined || !Object.hasOwn(data, "pattern")) return null;
  const parsed = patternSchema.safeParse(data["pattern"]);
  return parsed.success ? parsed.data : null;
}

/** The tag of a sequence that was not successful often enough to be a pattern. */
const candidateTag = "candidate";

/** Returns whether a procedural entry is offered: a pattern only if it was successful often enough. */
export function isOffered(entry: MemoryEntry, minFrequency: number): boolean {
  if (entry.metadata.tags.includes(candidateTag)) return false;
  const pattern = patternOf(entry);
  return pattern === null || pattern.frequency >= minFrequency;
}

/**
 * Returns the text of an entry for a model: its content, or the name and steps of a pattern. Placeholders in it are of
 * another conversation, and stand for nothing here.
 */
export function textOf(entry: MemoryEntry): string {
  const pattern = patternOf(entry);
  if (pattern === null) return withoutPlaceholders(entry.content);
  const steps = pattern.steps.map(({ tool, arguments: keys }) => `${tool}(${keys.join(", ")})`);
  const times = pattern.frequency === 1 ? "once" : `${pattern.frequency} times`;
  return withoutPlaceholders(`${pattern.name}: ${steps.join(" → ")} (worked ${times})`);
}

/** Returns a text whose placeholders are plain words: `<EMAIL_1>` becomes `[EMAIL]`. */
export function withoutPlaceholders(text: string): string {
  return text.replaceAll(placeholderPattern, (mark) => `[${mark.slice(1, mark.lastIndexOf("_"))}]`);
}
