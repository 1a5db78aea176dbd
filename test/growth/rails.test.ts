import {
  formatConfigSchema,
  hallucinationConfigSchema,
  injectionConfigSchema,
  piiEntities,
  topicConfigSchema,
  toxicityConfigSchema,
} from "../../src/definition/schema/guardrails.ts";
import { formatRail, markdownBoundsProblem } from "../../src/guardrails/format.ts";
import { hallucinationRail } from "../../src/guardrails/hallucination/hallucination-rail.ts";
import { injectionRail } from "../../src/guardrails/injection/injection-rail.ts";
import { findPersonalData } from "../../src/guardrails/pii/pii-rail.ts";
import type { Rail, RailContext } from "../../src/definition/rail.ts";
import { RedactionRegistry } from "../../src/guardrails/redaction-registry.ts";
import { redactKnownValues, unredact, redactionsIn } from "../../src/guardrails/redaction.ts";
import { topicRail } from "../../src/guardrails/topic/topic-rail.ts";
import { toxicityRail } from "../../src/guardrails/toxicity/toxicity-rail.ts";
import { textsOf, withTexts } from "../../src/guardrails/value-texts.ts";
import { createWordEmbeddings } from "../../src/models/embeddings/word-embeddings.ts";
import { itReadsInLinearTime } from "../helpers/growth.ts";

const embeddings = createWordEmbeddings();
const onError = { onError: "block" } as const;
const known = {
  "<EMAIL_1>": { label: "EMAIL", value: "ann@example.org" },
  "<CARD_1>": { label: "CARD", value: "4111 1111 1111 1111" },
  "<KEY_1>": { label: "KEY", value: "a".repeat(300) },
};

interface Checked {
  readonly on?: "input" | "output" | "tool_result";
  readonly evidence?: readonly string[];
  readonly value?: unknown;
}

function check(rail: Rail, text: string, { on = "output", evidence = [], value }: Checked = {}) {
  const context: RailContext = {
    signal: new AbortController().signal,
    embeddings,
    request: "Where is my booking?",
    evidence,
    ask: () => Promise.reject(new Error("No judge is configured.")),
    resolveSecrets: (one) => Promise.resolve(one),
  };
  return rail.check({ on, text, value: value ?? { message: text }, tool: null }, context);
}

function format(config: object) {
  const rail = formatRail(formatConfigSchema.parse(config), onError);
  return (text: string) => check(rail, text);
}

const injection = injectionRail(injectionConfigSchema.parse({}), onError);
const hallucination = hallucinationRail(hallucinationConfigSchema.parse({}), onError);
const topic = topicRail(topicConfigSchema.parse({ allow: ["billing"], deny: ["travel"] }), onError);
const toxicity = toxicityRail(toxicityConfigSchema.parse({}), onError);

itReadsInLinearTime(
  {
    "pii rail": (text) => findPersonalData(text, piiEntities),
    "injection rail": (text) => check(injection, text, { on: "tool_result" }),
    "topic rail": (text) => check(topic, text, { on: "input" }),
    "toxicity rail": (text) => check(toxicity, text),
    "hallucination rail": (text) =>
      check(hallucination, `about ${text}`, { evidence: [`${text} 4`] }),
    "hallucination rail, numbers": (text) =>
      check(hallucination, text.replaceAll(/.{80}/gs, "$& is about 7,231.\n"), {
        evidence: [Array.from({ length: text.length / 8 }, (_, at) => `${at}.5`).join(" ")],
      }),
    "hallucination rail, key": (text) =>
      check(hallucination, "", {
        evidence: [text],
        value: { [text]: Array.from({ length: text.length / 128 }, (_, at) => at) },
      }),
    "format rail, JSON": format({ is: "json" }),
    "format rail, language": format({ language: "en" }),
    "format rail, pattern": format({ pattern: "^(a+)+$" }),
    "format rail, length": format({ min_length: 1 }),
    markdownBoundsProblem,
    hideKnown: (text) => redactKnownValues({ [text]: text }, known),
    restore: (text) => unredact({ [text]: text }, known),
    standingIn: (text) => redactionsIn(text, known),
    textsOf: (text) => textsOf({ [text]: [text] }),
    withTexts: (text) => withTexts({ [text]: [text] }, new Map([[0, text]])),
    RedactionBook: (text) => {
      const book = new RedactionRegistry({});
      book.reserve(text);
      const spans = Array.from({ length: text.length / 10 }, (_, at) => ({
        start: at * 10,
        end: at * 10 + 8,
        label: "EMAIL",
      }));
      return book.redact(text, spans);
    },
  },
  {
    "pii rail": [
      "@",
      "1 ",
      "(0",
      ":a",
      "eyJ",
      "sk-",
      "passport A1234567 ",
      "0123 456 789 ",
      "GB82 WEST ",
      "-----BEGIN PRIVATE KEY-----",
      `${"a".repeat(60)}@${"b.".repeat(90)}`,
    ],
    "injection rail": ["A1-", "| ", "=", "ignore ", "system: "],
    "hallucination rail": ["a1-", "- ", "A "],
  },
);
