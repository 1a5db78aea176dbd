import { isRecord } from "../../../src/values/json.ts";

export type Schema = Readonly<Record<string, unknown>>;

/** The OpenAPI document of a server. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface DocumentedOperation {
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly "x-scopes"?: readonly string[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema?: Schema }>> };
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

export interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
}

/** A method of a path, as requests are made for it. */
export interface Operation {
  /** In lower case. */
  readonly method: string;
  /** Pattern: `/v1/agents/{agent_id}`. */
  readonly path: string;
  readonly isPublic: boolean;
  readonly scopes: readonly string[];
  readonly pathParameters: readonly string[];
  /** Schemas of path parameters by name. */
  readonly pathSchemas: Readonly<Record<string, Schema>>;
  readonly query: readonly Parameter[];
  readonly headers: readonly string[];
  readonly body: { readonly mediaTypes: readonly string[]; readonly schema: Schema } | null;
}

/** Returns all operations of a document. */
export function operationsOf(document: ApiDocument): readonly Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, documented]) => {
      const { parameters = [], requestBody } = documented;
      const [content] = Object.values(requestBody?.content ?? {});
      return {
        method,
        path,
        isPublic: (documented.security ?? []).length === 0,
        scopes: documented["x-scopes"] ?? [],
        pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name),
        pathSchemas: Object.fromEntries(
          parameters.flatMap((parameter) =>
            parameter.in === "path" ? [[parameter.name, parameter.schema ?? {}]] : [],
          ),
        ),
        query: parameters
          .filter((parameter) => parameter.in === "query")
          .map(({ name, required = false, schema = {} }) => ({
            name,
            isRequired: required,
            schema,
          })),
        headers: parameters.flatMap((parameter) =>
          parameter.in === "header" ? [parameter.name.toLowerCase()] : [],
        ),
        body: requestBody
          ? { mediaTypes: Object.keys(requestBody.content), schema: content?.schema ?? {} }
          : null,
      };
    }),
  );
}

/** Returns the path pattern of a request's path, the one with the fewest parameters; undefined for none. */
export function patternOf(
  document: ApiDocument,
  method: string,
  pathname: string,
): string | undefined {
  return Object.keys(document.paths)
    .filter((path) => method in (document.paths[path] ?? {}))
    .filter((path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(pathname))
    .toSorted((a, b) => a.split("{").length - b.split("{").length)[0];
}

/** Follows references to components. */
export function resolveSchema(document: ApiDocument, schema: unknown): Schema {
  let found = schema;
  for (let hops = 0; isRecord(found) && typeof found["$ref"] === "string" && hops < 20; hops += 1) {
    const name = found["$ref"].split("/").at(-1) ?? "";
    found = document.components?.schemas?.[name];
  }
  return isRecord(found) ? found : {};
}
