import type { TopicConfig } from "../../definition/guardrail-schema.ts";
import type { Embeddings } from "../../models/embeddings/embeddings.ts";
import { passed, type Rail, type RailFinding } from "../rail.ts";
import { judgedParts, type PartLikeness } from "./judged-parts.ts";
import { isCourtesy, type TextPart, textParts } from "./text-parts.ts";
import { type TopicScale, topicScale } from "./topic-scale.ts";
import { isUnread } from "./unread-text.ts";

/**
 * Keeps requests to topics that are allowed, and from those that are denied, by how alike their meaning is
 * (topic-scale.ts). A request is on a topic when it is as a whole or in one of its sentences; denied wins over allowed. The
 * score is that of the denied topic when one is met, else how far the request is from the nearest allowed one, else that
 * of the nearest denied one.
 *
 * Greetings, thanks and the like pass. Where topics are allowed, a part that the embeddings cannot read (unread-text.ts) is
 * on none of them. With a `judge`, that model decides of such parts, and of those whose score is within 0.2 of the threshold
 * (judged-parts.ts).
 */
export function topicRail(
  config: TopicConfig,
  { onError }: { readonly onError: Rail["onError"] },
): Rail {
  const { allow, deny } = config;
  const scales = new WeakMap<Embeddings, TopicScale>();
  return {
    name: "topic",
    on: new Set(["input"] as const),
    onError,
    async check({ text }, context) {
      if ((allow.length === 0 && deny.length === 0) || isCourtesy(text)) return passed;
      const { embeddings, signal } = context;
      let scale = scales.get(embeddings);
      if (scale === undefined) {
        scale = await topicScale([...deny, ...allow], embeddings, signal);
        scales.set(embeddings, scale);
      }
      const parts = textParts(text);
      const textOf = ({ start, end }: TextPart) => text.slice(start, end).trim();
      const scores = await scale.scores(parts.map(textOf), signal);
      const known: PartLikeness[] = [];
      for (const [at, part] of parts.entries()) {
        const own = scores[at] ?? null;
        const isForeign = allow.length > 0 && (await isUnread(textOf(part), embeddings));
        if (own === null && !isForeign) continue;
        const denied = Math.max(0, ...(own ?? []).slice(0, deny.length));
        const nearest = allow.length === 0 ? 1 : Math.max(0, ...(own ?? []).slice(deny.length));
        const allowed = isForeign ? Math.min(nearest, config.threshold / 2) : nearest;
        known.push({ ...part, denied, allowed, isUnread: isForeign });
      }
      if (known.length === 0) return passed;
      return findingOf(await judgedParts(known, text, config, context), config);
    },
  };
}

function findingOf(
  parts: readonly PartLikeness[],
  { threshold, action, allow }: TopicConfig,
): RailFinding {
  const denied = Math.max(...parts.map((part) => part.denied));
  const allowed = Math.max(...parts.map((part) => part.allowed));
  const isDenied = denied >= threshold && denied > 0;
  const isElsewhere = allowed < threshold;
  const score = isDenied || allow.length === 0 ? denied : 1 - allowed;
  if (!isDenied && !isElsewhere) return { ...passed, score };
  return {
    verdict: action,
    score,
    spans: [],
    reasons: [
      isDenied
        ? "The request is about a topic that is denied."
        : "The request is about none of the topics that are allowed.",
    ],
  };
}
