import { z } from "zod";
import {
  type DefinitionProblem,
  formatPath,
  InvalidDefinitionError,
} from "../../definition/check/problems.ts";
import { readDocument } from "../../definition/load/read-document.ts";
import { StratagraphError } from "../../errors.ts";
import { agentJsonSchema } from "../../definition/schema/agent.ts";
import type { DrawAgent } from "../ports.ts";
import { jsonPointer } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import type { AgentWrites } from "./agent-writes.ts";

const problemSchema = z
  .strictObject({
    path: z.string().describe("As in `tools[0].name`; empty for the whole text."),
    pointer: z.string().describe("JSON Pointer into the definition."),
    message: z.string(),
    line: z.int().min(1).nullable().describe("From 1, as is `column`."),
    column: z.int().min(1).nullable(),
    found: z.string().nullable(),
    allowed: z.array(z.string()),
    suggestion: z.string().nullable().describe("The nearest valid name."),
  })
  .meta({ id: "DefinitionProblem" });

const checkSchema = z
  .strictObject({
    ok: z.boolean(),
    problems: z.array(problemSchema).describe("By line."),
    definition: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe("The definition as JSON, to be stored; null with problems."),
    graph: z
      .unknown()
      .describe(
        "As `GET …/graph?format=json` draws it; null with problems, or if it cannot be drawn.",
      ),
  })
  .meta({ id: "AgentCheck" });

/** Problems of an answer; the rest is left out. */
const maxProblems = 500;
/** Parsing more YAML, while it is typed, would hold up the requests of others. */
const maxCharacters = 262_144;

/** Creates the routes that help to write a definition: they store nothing. */
export function checkRoutes({
  writes,
  draw,
}: {
  readonly writes: Pick<AgentWrites, "check">;
  readonly draw: DrawAgent;
}): readonly Route[] {
  return [
    defineRoute({
      method: "post",
      path: "/v1/agents/check",
      operationId: "checkAgent",
      summary: "Checks the text of a definition as creating an agent does, and stores nothing.",
      description: "A text with problems is a 200 with `ok: false`.",
      tag: "agents",
      scopes: ["agents:read"],
      body: z.strictObject({
        source: z.string().max(maxCharacters).describe("The definition as YAML or JSON."),
      }),
      answers: { 200: { description: "The problems.", schema: checkSchema } },
      async handle({ body, principal }) {
        const file = "definition";
        const read = await readDocument(body.source, { file, what: "definition" });
        if (!read.ok) return { status: 200, body: withProblems(read.problems) };
        try {
          const { document, definition } = await writes.check(principal, read.document);
          const { graph } = await draw(definition).catch(notDrawn);
          return { status: 200, body: { ok: true, problems: [], definition: document, graph } };
        } catch (thrown) {
          if (!(thrown instanceof InvalidDefinitionError)) throw thrown;
          return { status: 200, body: withProblems(read.locateProblems(thrown.problems)) };
        }
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/schemas/agent",
      operationId: "getAgentSchema",
      summary: "The JSON Schema of definitions.",
      tag: "agents",
      scopes: "public",
      answers: {
        200: { description: "The schema.", schema: z.looseObject({ $schema: z.string() }) },
      },
      handle: async () => ({
        status: 200,
        body: agentJsonSchema(),
        headers: { "Cache-Control": "no-cache" },
      }),
    }),
  ];
}

/** What only shows when an agent is compiled is no reason not to store it. */
function notDrawn(thrown: unknown): { readonly graph: null } {
  if (thrown instanceof InvalidDefinitionError || !(thrown instanceof StratagraphError))
    throw thrown;
  return { graph: null };
}

function withProblems(problems: readonly DefinitionProblem[]) {
  return {
    ok: false,
    problems: problems.slice(0, maxProblems).map((problem) => ({
      path: problem.path.length === 0 ? "" : formatPath(problem.path),
      pointer: jsonPointer(problem.path),
      message: problem.message,
      line: problem.line ?? null,
      column: problem.column ?? null,
      found: problem.found ?? null,
      allowed: problem.allowed ?? [],
      suggestion: problem.suggestion ?? null,
    })),
    definition: null,
    graph: null,
  };
}
