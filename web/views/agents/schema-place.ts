import type { JsonSchema } from "../../api/document.ts";
import { resolve, typeText } from "../reference/schema-text.ts";
import { type Members, type Path, pathName, type YamlPlace } from "./yaml-place.ts";

/** What the schema says of a key or a value. */
export interface SchemaHelp {
  /** The key or the path. */
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** JSON of the default; null if there is none. */
  readonly fallback: string | null;
  readonly isRequired: boolean;
}

/** A proposal for what is written at the caret. */
export interface Completion extends SchemaHelp {
  /** The text that replaces the prefix. */
  readonly insert: string;
}

interface Sought {
  readonly root: JsonSchema;
  readonly place: YamlPlace;
  readonly members: Members;
}

/** Levels of alternatives within alternatives that are followed. */
const maxDepth = 8;

/** Returns the schemas that a value at a path may have, with those left out that its neighbours rule out. */
function schemasAt(root: JsonSchema, path: Path, members: Members): readonly JsonSchema[] {
  const definitions = root.$defs ?? {};
  let found = flatten([root], definitions);
  path.forEach((part, at) => {
    const written = members.get(pathName(path.slice(0, at)));
    const inside = fitting(found, written).flatMap((schema): readonly JsonSchema[] => {
      const { items, properties = {}, additionalProperties } = schema;
      if (typeof part === "number") return typeof items === "object" ? [items] : [];
      const own = Object.hasOwn(properties, part) ? properties[part] : undefined;
      if (own !== undefined) return [own];
      return typeof additionalProperties === "object" ? [additionalProperties] : [];
    });
    found = flatten(inside, definitions);
  });
  return fitting(found, members.get(pathName(path)));
}

/** Follows references and alternatives to schemas that have neither. */
function flatten(
  schemas: readonly JsonSchema[],
  definitions: Readonly<Record<string, JsonSchema>>,
  depth = 0,
): readonly JsonSchema[] {
  if (depth > maxDepth) return [];
  return schemas.flatMap((one) => {
    const schema = resolve(one, definitions);
    const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
    if (inner.length === 0) return [schema];
    const { description, default: fallback } = schema;
    const around = {
      ...(description !== undefined && { description }),
      ...(fallback !== undefined && { default: fallback }),
    };
    return flatten(inner, definitions, depth + 1).map((alternative) => {
      return { ...around, ...alternative };
    });
  });
}

/** Leaves out the alternatives whose constants differ from what is written; all stay if none fits. */
function fitting(
  schemas: readonly JsonSchema[],
  written: ReadonlyMap<string, string> | undefined,
): readonly JsonSchema[] {
  if (written === undefined) return schemas;
  const kept = schemas.filter(({ properties }) =>
    Object.entries(properties ?? {}).every(([name, { const: fixed }]) => {
      const value = written.get(name);
      return (
        fixed === undefined || value === undefined || value === "" || value === plainText(fixed)
      );
    }),
  );
  // Of what is left, those that know the written keys tell more.
  const knowing = kept.filter(({ properties = {} }) =>
    [...written.keys()].some((name) => Object.hasOwn(properties, name)),
  );
  return knowing.length > 0 ? knowing : kept.length > 0 ? kept : schemas;
}

/** A constant as YAML has it without quotes. */
function plainText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns what the schema says of the key or the value at the caret; null if it says nothing. */
export function helpAt({ root, place, members }: Sought): SchemaHelp | null {
  const { kind, path, key } = place;
  const whole = kind === "key" && key !== null ? [...path, key] : path;
  const schemas = schemasAt(root, whole, members);
  const at = whole.findLastIndex((part) => typeof part === "string");
  if (schemas.length === 0 || at < 0) return null;
  const name = String(whole[at]);
  const parents = schemasAt(root, whole.slice(0, at), members);
  const isRequired = parents.some(({ required }) => required?.includes(name) === true);
  return help(name, schemas, root, isRequired);
}

function help(
  name: string,
  schemas: readonly JsonSchema[],
  root: JsonSchema,
  isRequired: boolean,
): SchemaHelp {
  const types = schemas.map((schema) => typeText(schema, root.$defs ?? {}));
  const described = schemas.find(({ description }) => description !== undefined);
  const defaulted = schemas.find((schema) => schema.default !== undefined);
  return {
    name,
    type: [...new Set(types)].join(" | "),
    description: described?.description ?? "",
    fallback: defaulted === undefined ? null : JSON.stringify(defaulted.default),
    isRequired,
  };
}

/** Lists the keys and the fixed values that can be written at the caret, those that begin with its prefix. */
export function completionsAt({ root, place, members }: Sought): readonly Completion[] {
  const { kind, path, siblings, prefix, key, isItem } = place;
  if (kind === "text") return [];
  const schemas = schemasAt(root, path, members);
  const typed = prefix.toLowerCase().replace(/^["']/, "");
  const begins = ({ name }: Completion) => name.toLowerCase().startsWith(typed);
  if (kind === "value") return valuesOf(schemas, root).filter(begins);
  const lists = isItem ? [] : schemas.filter(({ type }) => type === "array");
  const items = lists.flatMap(({ items: of }) => (typeof of === "object" ? [of] : []));
  const inItems = flatten(items, root.$defs ?? {});
  const dashed = [...valuesOf(inItems, root), ...keysOf(inItems, root, new Map(), null)].map(
    (one) => ({ ...one, insert: `- ${one.insert}` }),
  );
  return [
    ...keysOf(schemas, root, siblings, key),
    ...(isItem && key === null ? valuesOf(schemas, root) : []),
    ...dashed,
  ].filter(begins);
}

function keysOf(
  schemas: readonly JsonSchema[],
  root: JsonSchema,
  written: ReadonlyMap<string, string>,
  current: string | null,
): readonly Completion[] {
  const byName = new Map<string, { schemas: JsonSchema[]; isRequired: boolean }>();
  for (const { properties = {}, required = [] } of schemas) {
    for (const [name, schema] of Object.entries(properties)) {
      if (written.has(name) && name !== current) continue;
      const one = byName.get(name) ?? { schemas: [], isRequired: false };
      one.schemas.push(schema);
      byName.set(name, { ...one, isRequired: one.isRequired || required.includes(name) });
    }
  }
  return [...byName].map(([name, { schemas: own, isRequired }]) => {
    const flat = flatten(own, root.$defs ?? {});
    return { ...help(name, flat, root, isRequired), insert: `${name}: ` };
  });
}

function valuesOf(schemas: readonly JsonSchema[], root: JsonSchema): readonly Completion[] {
  const values = schemas.flatMap((schema) => {
    const all = schema.enum ?? (schema.const !== undefined ? [schema.const] : undefined);
    const fixed = all ?? (schema.type === "boolean" ? [true, false] : []);
    return fixed.map((value) => ({
      ...help(String(value), [schema], root, false),
      insert: String(value),
    }));
  });
  return [...new Map(values.map((one) => [one.name, one])).values()];
}
