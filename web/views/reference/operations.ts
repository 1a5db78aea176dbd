import type { ApiDocument, ApiOperation, JsonSchema } from "../../api/document.ts";

/** An operation with where it is. */
export interface Operation extends ApiOperation {
  readonly method: string;
  readonly path: string;
  readonly tag: string;
}

/** The values of a request, as the form gives them. */
export interface RequestValues {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** All operations in the order of the document. */
export function operationsOf({ paths }: ApiDocument): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      return { ...operation, method, path, tag: operation.tags?.[0] ?? "other" };
    }),
  );
}

/** Operations that have all words of a search in their names, paths, summaries or scopes. */
export function searchOperations(
  operations: readonly Operation[],
  search: string,
): readonly Operation[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return operations.filter((one) => {
    const text = [one.method, one.path, one.operationId, one.summary, one.tag, one["x-scopes"]]
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Whether an operation changes nothing. */
export function isSafe({ method }: Pick<Operation, "method">): boolean {
  return ["get", "head"].includes(method);
}

const partTitles = { path: "Path", query: "Query", headers: "Headers" } as const;

/** The schema of all values of a request: parameters by where they stand, and the body. Null if there are none. */
export function requestSchema(operation: Operation, document: ApiDocument): JsonSchema | null {
  const parameters = operation.parameters ?? [];
  const parts = (["path", "query", "headers"] as const).flatMap((part) => {
    const own = parameters.filter(
      ({ in: where }) => where === (part === "headers" ? "header" : part),
    );
    if (own.length === 0) return [];
    const properties = own.map(({ name, schema = {}, description }) => [
      name,
      { ...schema, ...(description !== undefined && { description }) },
    ]);
    const required = own.filter((one) => one.required === true).map(({ name }) => name);
    const schema = {
      type: "object",
      title: partTitles[part],
      properties: Object.fromEntries(properties) as Record<string, JsonSchema>,
      required,
    };
    return [[part, schema, required.length > 0] as const];
  });
  const body = bodyOf(operation);
  const all = [
    ...parts,
    ...(body === null ? [] : [["body", { title: "Body", ...body.schema }, true] as const]),
  ];
  if (all.length === 0) return null;
  return {
    type: "object",
    properties: Object.fromEntries(all.map(([part, of]) => [part, of])) as Record<
      string,
      JsonSchema
    >,
    required: all.filter(([, , isRequired]) => isRequired).map(([part]) => part),
    additionalProperties: false,
    // References are paths in the whole document.
    components: document.components,
  } as JsonSchema;
}

/** The media type and the schema of a body; null if the operation takes none. */
export function bodyOf(
  operation: ApiOperation,
): { readonly type: string; readonly schema: JsonSchema } | null {
  const [entry] = Object.entries(operation.requestBody?.content ?? {});
  return entry === undefined ? null : { type: entry[0], schema: entry[1].schema ?? {} };
}

/** A request that is ready to be sent. */
export interface PreparedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Makes a request from values. Each part of the path is encoded, so that none leads elsewhere. */
export function prepareRequest(
  operation: Operation,
  { path = {}, query = {}, headers = {}, body }: RequestValues,
  baseUrl: string,
): PreparedRequest {
  const filled = operation.path.replaceAll(/\{([^}]+)\}/g, (_whole, name: string) =>
    encodedPart(textOf(path[name] ?? "")),
  );
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === null || value === "" ? [] : [[name, textOf(value)]],
    ),
  ).toString();
  const content = bodyOf(operation);
  const hasBody = content !== null && body !== undefined;
  return {
    method: operation.method.toUpperCase(),
    url: `${baseUrl}${filled}${search === "" ? "" : `?${search}`}`,
    headers: {
      ...(hasBody && { "Content-Type": content.type }),
      ...Object.fromEntries(
        Object.entries(headers)
          .filter(([, value]) => value !== undefined && value !== null && value !== "")
          .map(([name, value]) => [name, textOf(value)]),
      ),
    },
    body: hasBody ? JSON.stringify(body) : null,
  };
}

/** Encoded dots would be resolved by the browser as well, so such a part is encoded twice: it is no id anyway. */
function encodedPart(text: string): string {
  return /^\.{1,2}$/.test(text) ? text.replaceAll(".", "%252E") : encodeURIComponent(text);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A request as a curl command for a POSIX shell. The key stands in a variable, so that it is in no history. */
export function curlCommand(request: PreparedRequest, { hasKey }: { hasKey: boolean }): string {
  const { method, url, headers, body } = request;
  const parts = [
    `curl${method === "GET" ? "" : ` -X ${method}`} ${shellQuoted(url)}`,
    ...(hasKey ? ['-H "Authorization: Bearer $STRATAGRAPH_API_KEY"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    // Not --data, which reads a file where the body begins with @.
    ...(body === null ? [] : [`--data-raw ${shellQuoted(body)}`]),
  ];
  return parts.join(" \\\n  ");
}

/** A word that a POSIX shell takes as it is. Control characters, which terminals obey, are left out. */
export function shellQuoted(text: string): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "");
  return `'${plain.replaceAll("'", String.raw`'\''`)}'`;
}
