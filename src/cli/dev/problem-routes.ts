import { z } from "zod";
import { formatPath } from "../../definition/check/problems.ts";
import { defineRoute, type Route } from "../../server/route.ts";
import type { FolderCheck } from "./dev-folder.ts";

const problemSchema = z
  .strictObject({
    file: z.string().nullable().describe("Path from the folder."),
    line: z.int().nullable().describe("From 1, as is `column`; null for a whole file."),
    column: z.int().nullable(),
    path: z.string().describe("Place in the definition, as in `workflow_graph.nodes[0].name`."),
    message: z.string(),
    found: z.string().nullable(),
    allowed: z.array(z.string()),
    suggestion: z.string().nullable().describe("The nearest valid name."),
  })
  .meta({ id: "DevProblem" });

const checkSchema = z
  .strictObject({
    folder: z.string(),
    revision: z.int().describe("Increases when agents or problems change."),
    checked_at: z.iso.datetime(),
    agents: z.array(z.strictObject({ name: z.string(), version: z.string(), file: z.string() })),
    problems: z.array(problemSchema),
    left_out: z.array(z.strictObject({ file: z.string(), reason: z.string() })),
  })
  .meta({ id: "DevCheck" });

/**
 * Creates the route of the problems of a folder.
 *
 * @param id tells the tags of this process from those of others
 */
export function problemRoutes(given: {
  readonly folder: string;
  readonly id: string;
  readonly lastCheck: () => FolderCheck;
}): readonly Route[] {
  const { folder, id, lastCheck } = given;
  return [
    defineRoute({
      method: "get",
      path: "/v1/dev/problems",
      operationId: "listDevProblems",
      summary:
        "Returns the outcome of the newest check of the folder that `stratagraph dev` serves.",
      description:
        "The ETag changes with agents and problems. With If-None-Match the answer is 304 until then.",
      tag: "agents",
      scopes: ["agents:read"],
      headers: { "If-None-Match": "ETag of the answer that the caller has." },
      answers: {
        200: { description: "The outcome.", schema: checkSchema },
        304: { description: "As in the answer with this ETag." },
      },
      async handle({ request }) {
        const check = lastCheck();
        const tag = `"${id}-${check.revision}"`;
        const headers = { ETag: tag };
        if (request.headers.get("if-none-match") === tag) return { status: 304, headers };
        const body = {
          folder,
          revision: check.revision,
          checked_at: check.checkedAt,
          agents: check.agents,
          problems: check.problems.map((problem) => ({
            file: problem.file ?? null,
            line: problem.line ?? null,
            column: problem.column ?? null,
            path: problem.path.length === 0 ? "" : formatPath(problem.path),
            message: problem.message,
            found: problem.found ?? null,
            allowed: problem.allowed ?? [],
            suggestion: problem.suggestion ?? null,
          })),
          left_out: check.leftOut,
        };
        return { status: 200, body, headers };
      },
    }),
  ];
}
