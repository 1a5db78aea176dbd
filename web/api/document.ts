import { api, bodyOf } from "./client.ts";
import { type Loaded, useQuery } from "./query.ts";

/** A JSON Schema, as far as it is read here. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** A parameter of an operation. */
export interface ApiParameter {
  readonly in: "path" | "query" | "header";
  readonly name: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: JsonSchema;
}

type Content = Readonly<Record<string, { readonly schema?: JsonSchema }>>;

/** An operation of the API. */
export interface ApiOperation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly "x-scopes"?: readonly string[];
  readonly parameters?: readonly ApiParameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Content }>
  >;
}

/** The OpenAPI document of the server, as far as it is read here. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

/** Loads the OpenAPI document once. It says which routes the server has. */
export function useApiDocument(): Loaded<ApiDocument> {
  return useQuery("openapi", async (signal) => {
    const document: unknown = await bodyOf(api.GET("/v1/openapi.json", { signal }));
    return document as ApiDocument;
  });
}

/** Whether the server has a route; null until that is known. */
export function useHasRoute(path: string): boolean | null {
  const { data } = useApiDocument();
  return data === null ? null : Object.hasOwn(data.paths, path);
}
