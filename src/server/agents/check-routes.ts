import { readFileSync } from "node:fs";
import { z } from "zod";
import {
  type DefinitionProblem,
  formatPath,
  InvalidDefinitionError,
} from "../../definition/check/problems.ts";
import { readDocument } from "../../definition/load/read-document.ts";
import { yieldToEventLoop } from "../../event-loop.ts";
import { packageFolder } from "../../own-package.ts";
import { toJson } from "../../values/bounded-json.ts";
import { parseJsonText } from "../http/json-text.ts";
import { fileAnswer, pageFile, type PageFile } from "../inspector/page-files.ts";
import type { DrawAgent } from "../ports.ts";
import { HttpProblem, jsonPointer } from "../problems.ts";
import { defineRoute, type Route } from "../route.ts";
import type { AgentWrites } from "./agent-writes.ts";
import type { WrittenDefinition } from "./read-definition.ts";

const mebibyte = 1_048_576;
/** Bounds of a definition, which those of a body that creates an agent are too. */
const documentLimits = { maxBytes: mebibyte, maxDepth: 100, maxValues: 50_000 };
/** Parsing more YAML, while it is typed, would hold up the requests of others. */
const maxTokens = 40_000;
/** Problems of an answer; the rest is left out. */
const maxProblems = 200;

const checkBody = z.union([
  z.strictObject({
    source: z.string().max(mebibyte).describe("The definition as YAML or JSON text."),
  }),
  z.strictObject({ definition: z.record(z.string(), z.unknown()) }),
]);

const problemSchema = z
  .strictObject({
    path: z.string().describe("As in `tools[0].name`; empty for the whole definition."),
    pointer: z.string().describe("JSON Pointer into the definition."),
    message: z.string(),
    line: z.int().min(1).optional().describe("In the source, from 1, as is `column`."),
    column: z.int().min(1).optional(),
    found: z.string().optional().describe("The value there, truncated."),
    suggestion: z.string().optional().describe("The nearest valid name."),
  })
  .meta({ id: "DefinitionProblem" });

const checkSchema = z
  .strictObject({
    ok: z.boolean(),
    problems: z.array(problemSchema).describe(`By line; at most ${maxProblems}.`),
    definition: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe("The definition as JSON, to be stored; null with problems."),
    graph: z
      .unknown()
      .describe(
        "As `GET …/graph?format=json` draws it; null with problems, or if it has no drawing.",
      ),
  })
  .meta({ id: "AgentCheck" });

type Check = z.output<typeof checkSchema>;

export interface CheckRoutesOptions {
  readonly writes: Pick<AgentWrites, "check">;
  readonly draw: DrawAgent;
}

/** Creates the routes that help to write a definition. They store nothing. */
export function checkRoutes({ writes, draw }: CheckRoutesOptions): readonly Route[] {
  let schemaFile: PageFile | undefined;
  return [
    defineRoute({
      method: "post",
      path: "/v1/agents/check",
      operationId: "checkAgent",
      summary: "Checks a definition as creating an agent does, and stores nothing.",
      description: "The answer to a definition with problems is a 200 with `ok: false`.",
      tag: "agents",
      scopes: ["agents:read"],
      body: checkBody,
      // JSON writes each quote and line break of a text with two bytes.
      maxBodyBytes: 3 * mebibyte,
      answers: { 200: { description: "The outcome.", schema: checkSchema } },
      async handle({ body, principal }): Promise<{ status: number; body: Check }> {
        const read = await readWritten(body);
        if (!read.ok) return { status: 200, body: refusal(read.problems) };
        try {
          // Each part may take a large part of a second: requests of others come in between.
          await yieldToEventLoop();
          const written = toStorable(read.document);
          await yieldToEventLoop();
          const { document, definition } = await writes.check(principal, written);
          await yieldToEventLoop();
          const graph = await drawGraph(draw, definition);
          return { status: 200, body: { ok: true, problems: [], definition: document, graph } };
        } catch (thrown) {
          if (!(thrown instanceof InvalidDefinitionError)) throw thrown;
          const problems = read.locateProblems(thrown.problems.slice(0, maxProblems));
          return { status: 200, body: refusal(problems) };
        }
      },
    }),
    defineRoute({
      method: "get",
      path: "/v1/schemas/agent",
      operationId: "getAgentSchema",
      summary: "Reads the JSON Schema of definitions.",
      tag: "agents",
      scopes: [],
      headers: { "If-None-Match": "The ETag of the schema that the client has." },
      answers: {
        200: {
          description: "The schema.",
          schema: z.looseObject({ $schema: z.string() }),
          headers: { ETag: "Hash of the schema." },
        },
        304: { description: "The client has it." },
      },
      async handle({ request }) {
        schemaFile ??= pageFile(
          readFileSync(new URL("schema/agent.schema.json", packageFolder())),
          "application/json",
        );
        return fileAnswer(request, schemaFile, { "Cache-Control": "private, no-cache" });
      },
    }),
  ];
}

function readWritten(body: z.output<typeof checkBody>): ReturnType<typeof readDocument> {
  if ("source" in body)
    return readDocument(body.source, { file: "definition", what: "definition", maxTokens });
  return Promise.resolve({
    ok: true,
    document: body.definition,
    locateProblems: (problems) => problems,
  });
}

/**
 * Returns a document as the JSON that a client would send to store it. Aliases of YAML stand for copies then, and the
 * limits of a body hold.
 *
 * @throws InvalidDefinitionError for a document beyond them
 */
function toStorable(document: unknown): unknown {
  const { value, whole } = toJson(document, documentLimits.maxBytes);
  if (!whole) throw beyondLimits("expected at most 1 MiB of JSON");
  try {
    return parseJsonText(JSON.stringify(value), documentLimits);
  } catch (thrown) {
    if (!(thrown instanceof HttpProblem)) throw thrown;
    throw beyondLimits(thrown.message.replace("The body", "the definition").replace(/\.$/, ""));
  }
}

function beyondLimits(message: string): InvalidDefinitionError {
  return new InvalidDefinitionError([{ path: [], message }]);
}

/** Returns null for a definition that cannot be drawn on this server, which is no fault of the definition. */
async function drawGraph(
  draw: DrawAgent,
  definition: WrittenDefinition["definition"],
): Promise<unknown> {
  try {
    return (await draw(definition)).graph;
  } catch {
    return null;
  }
}

function refusal(problems: readonly DefinitionProblem[]): Check {
  return {
    ok: false,
    problems: problems
      .slice(0, maxProblems)
      .map(({ path, message, line, column, found, suggestion }) => ({
        path: path.length === 0 ? "" : formatPath(path),
        pointer: jsonPointer(path),
        message,
        ...(line !== undefined && { line }),
        ...(column !== undefined && { column }),
        ...(found !== undefined && { found }),
        ...(suggestion !== undefined && { suggestion }),
      })),
    definition: null,
    graph: null,
  };
}
