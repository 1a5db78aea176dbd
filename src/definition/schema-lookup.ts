import type { z } from "zod";
import type { DefinitionPath } from "./problems.ts";
import { valueAt } from "./value-at.ts";

/** What is used of the definitions that zod keeps of its schemas. */
interface SchemaDef {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly element?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly discriminator?: string;
  readonly values?: readonly unknown[];
}

/** What was written, and the schema that it is checked with. */
export interface CheckedValue {
  readonly schema: z.ZodType;
  readonly written: unknown;
}

/** The keys that the schema has at a path; which branch of a union that is, is told by what was written. */
export function knownKeys(path: DefinitionPath, checked: CheckedValue): readonly string[] {
  const schema = schemaAt(path, checked);
  return schema === undefined ? [] : keysOf(resolve(schema, valueAt(checked.written, path)));
}

/**
 * The keys of a union of maps that have one key each, such as `{ mcp: … }` and `{ community: … }`, in the order of its
 * branches, where other branches have null; undefined where the schema has no such union at the path.
 */
export function soleKeys(
  path: DefinitionPath,
  checked: CheckedValue,
): readonly (string | null)[] | undefined {
  const schema = schemaAt(path, checked);
  const options = schema && unwrapped(schema).options;
  const keys = options?.map((option) => {
    const of = keysOf(unwrapped(option));
    return of.length === 1 ? (of[0] ?? null) : null;
  });
  return keys !== undefined && keys.filter((key) => key !== null).length > 1 ? keys : undefined;
}

function schemaAt(path: DefinitionPath, checked: CheckedValue): z.ZodType | undefined {
  let schema: z.ZodType | undefined = checked.schema;
  let value = checked.written;
  for (const part of path) {
    if (schema === undefined) return undefined;
    const def: SchemaDef = resolve(schema, value);
    schema = def.element ?? def.valueType ?? def.shape?.[part];
    value = valueAt(value, [part]);
  }
  return schema;
}

/** Of defaults and optionals what is inside, of a union the branch. */
function resolve(schema: z.ZodType, value: unknown): SchemaDef {
  const def = unwrapped(schema);
  const branch = def.options && chooseOption(def, value);
  return branch === undefined ? def : resolve(branch, value);
}

function unwrapped(schema: z.ZodType): SchemaDef {
  const def: SchemaDef = schema.def;
  return def.innerType === undefined ? def : unwrapped(def.innerType);
}

function chooseOption({ options = [], discriminator }: SchemaDef, value: unknown) {
  if (discriminator !== undefined) {
    const wanted = valueAt(value, [discriminator]);
    const named = options.find((option) => literalOf(option, discriminator) === wanted);
    if (wanted !== undefined && named !== undefined) return named;
  }
  const maps = options.filter((option) => unwrapped(option).type === "object");
  const hasKeyOf = (option: z.ZodType) =>
    keysOf(unwrapped(option)).some((key) => valueAt(value, [key]) !== undefined);
  return maps.find(hasKeyOf) ?? maps[0];
}

function literalOf(option: z.ZodType, key: string): unknown {
  const literal = unwrapped(option).shape?.[key];
  return literal && unwrapped(literal).values?.[0];
}

function keysOf({ shape = {} }: SchemaDef): readonly string[] {
  return Object.keys(shape);
}
