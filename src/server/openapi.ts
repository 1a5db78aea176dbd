import type { OpenAPIHono } from "@hono/zod-openapi";
import { z } from "zod";
import { isRecord } from "../values/json.ts";
import { problemMediaType, problemSchema, problemTypes, type ProblemType } from "./problems.ts";
import { eventStreamType, type Route } from "./route.ts";

/** A JSON Schema, or a reference to one. */
type Schema = Record<string, unknown>;
type Registry = OpenAPIHono["openAPIRegistry"];

/** Problems that any route may answer with. */
const commonProblems: readonly ProblemType[] = [
  ...(["invalid_request", "forbidden_origin", "not_acceptable", "rate_limited"] as const),
  ...(["headers_too_large", "url_too_long", "internal", "unavailable", "timeout"] as const),
];
const keyProblems: readonly ProblemType[] = ["unauthorized", "missing_scope"];
const bodyProblems: readonly ProblemType[] = [
  ...(["invalid_json", "request_timeout", "body_too_large", "unsupported_media_type"] as const),
  "invalid_input",
];
const idempotencyProblems: readonly ProblemType[] = ["request_in_progress", "idempotency_mismatch"];

/** Adds the routes of an API to its OpenAPI 3.1 document. Schemas with an id become components. */
export class ApiDocument {
  readonly #components = new Set<string>();

  constructor(private readonly registry: Registry) {
    registry.registerComponent("securitySchemes", "key", {
      type: "http",
      scheme: "bearer",
      description: "An API key: `sg_…`. `X-Api-Key` is taken as well.",
    });
    this.#schema(problemSchema, "output");
  }

  add(route: Route): void {
    const { method, path, operationId, summary, description, tag, scopes } = route;
    const answers = Object.entries(route.answers).map(([status, answer]) => {
      const { schema, mediaType = "application/json", headers = {} } = answer;
      const content = schema && {
        [mediaType]: { schema: this.#schema(schema, "output") },
        ...(answer.orEvents && { [eventStreamType]: { schema: { type: "string" } } }),
      };
      const documented = Object.entries(headers).map(([name, what]) => [
        name,
        { description: what, schema: { type: "string" } },
      ]);
      return [
        status,
        {
          description: answer.description,
          ...(documented.length > 0 && { headers: Object.fromEntries(documented) as object }),
          ...(content && { content }),
        },
      ];
    });
    this.registry.registerPath({
      method,
      path,
      operationId,
      summary,
      ...(description !== undefined && { description }),
      tags: [tag],
      ...(scopes === "public"
        ? { security: [] }
        : { security: [{ key: [] }], "x-scopes": [...scopes] }),
      parameters: this.#parameters(route),
      ...(route.body && { request: { body: this.#body(route) } }),
      responses: { ...problemAnswers(route), ...(Object.fromEntries(answers) as object) },
    } as Parameters<Registry["registerPath"]>[0]);
  }

  #parameters(route: Route): object[] {
    const declared = (["params", "query"] as const).flatMap((kind) => {
      const shape: Record<string, z.ZodType> = route[kind]?.shape ?? {};
      return Object.entries(shape).map(([name, schema]) => {
        const { description, ...rest } = this.#schema(schema, "input");
        return {
          in: kind === "params" ? "path" : "query",
          name,
          required: kind === "params" || !schema.safeParse(undefined).success,
          ...(typeof description === "string" && { description }),
          schema: rest,
        };
      });
    });
    const isIdempotent = route.method === "post" && route.scopes !== "public";
    const headers = {
      ...(isIdempotent && {
        "Idempotency-Key": "Executes the request once, however often it is sent.",
      }),
      ...route.headers,
    };
    const named = Object.entries(headers).map(([name, description]) => {
      return { in: "header", name, required: false, description, schema: { type: "string" } };
    });
    return [...declared, ...named];
  }

  #body({ body, bodySchema, bodyTypes = ["application/json"] }: Route): object {
    const schema = bodySchema
      ? this.#component(bodySchema.id, bodySchema.schema as Schema)
      : this.#schema(body ?? z.unknown(), "input");
    return {
      required: true,
      content: Object.fromEntries(bodyTypes.map((type) => [type, { schema }])),
    };
  }

  #schema(schema: z.ZodType, io: "input" | "output"): Schema {
    const { id, ...root } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Schema;
    return typeof id === "string" ? this.#component(id, root) : this.#hoist(root, "");
  }

  #component(id: string, schema: Schema): Schema {
    if (!this.#components.has(id)) {
      this.#components.add(id);
      this.registry.registerComponent("schemas", id, this.#hoist(schema, id));
    }
    return { $ref: `#/components/schemas/${id}` };
  }

  /** Makes components of the definitions inside a schema, whose references are relative to the whole document. */
  #hoist({ $defs = {}, $schema: _schema, id: _id, ...schema }: Schema, owner: string): Schema {
    // Names that zod made up are those of one schema only.
    const nameOf = (name: string) => (name.startsWith("__") ? `${owner}${name}` : name);
    const point = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(point);
      if (!isRecord(value)) return value;
      return Object.fromEntries(
        Object.entries(value).map(([key, inner]) => {
          const local =
            key === "$ref" && typeof inner === "string" && /^#\/\$defs\/(.+)$/.exec(inner);
          if (local) return [key, `#/components/schemas/${nameOf(local[1] ?? "")}`];
          return [key, point(inner)];
        }),
      );
    };
    for (const [name, inner] of Object.entries($defs as Record<string, Schema>)) {
      const component = nameOf(name);
      if (this.#components.has(component)) continue;
      this.#components.add(component);
      const { id: _inner, ...rest } = point(inner) as Schema;
      this.registry.registerComponent("schemas", component, rest);
    }
    return point(schema) as Schema;
  }
}

function problemAnswers(route: Route): object {
  const types: readonly ProblemType[] = [
    ...commonProblems,
    ...(route.scopes === "public" ? [] : keyProblems),
    ...(route.params ? (["not_found"] as const) : []),
    ...(route.body ? bodyProblems : []),
    ...(route.method === "post" ? idempotencyProblems : []),
    ...(route.problems ?? []),
  ];
  const byStatus = new Map<number, ProblemType[]>();
  for (const type of new Set(types)) {
    const { status } = problemTypes[type];
    byStatus.set(status, [...(byStatus.get(status) ?? []), type]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => [
      status,
      {
        description: of.map((type) => `${problemTypes[type].title} (\`${type}\`)`).join("; "),
        content: { [problemMediaType]: { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    ]),
  );
}
