import { z } from "zod";
import { StratagraphError } from "../errors.ts";
import { limits } from "../expression/problem.ts";
import { linearPattern, type LinearPattern } from "../expression/pattern.ts";
import { isRecord } from "../values/json.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

export interface ConvertedSchema {
  /** @throws RangeError for a value that is nested too deeply; PatternWorkError */
  readonly safeParse: (value: unknown) => z.ZodSafeParseResult<unknown>;
  /**
   * Patterns that are not checked because they cannot be matched in linear time, each with its location and the reason.
   */
  readonly unmatched: readonly string[];
}

/** The patterns had more text to match than one check allows. */
class PatternWorkError extends StratagraphError {
  readonly code = "pattern_work";
  override readonly kind = "run";

  constructor() {
    super("too much text to be matched with the schema's patterns");
  }
}

/**
 * Converts a JSON Schema into a zod check. zod would match patterns with JavaScript's `RegExp`, which backtracks: a
 * schema of a tool server could block the process indefinitely. Here each pattern is matched in linear time, and all
 * patterns of one check have bounded work.
 *
 * @throws Error of zod if the document uses an unsupported keyword
 */
export function zodFromJsonSchema(schema: JsonSchema): ConvertedSchema {
  const written = jsonText(schema);
  // zod refuses values that are not JSON, with a reason.
  if (written === undefined || !/"pattern(?:Properties)?"/.test(written)) {
    const made = z.fromJSONSchema(schema);
    return { safeParse: (value) => made.safeParse(value), unmatched: [] };
  }
  const patterns = new Patterns();
  const marked = patterns.mark(JSON.parse(written) as JsonSchema, "");
  const made = z.fromJSONSchema(marked as never, { registry: patterns.registry() });
  return {
    safeParse(value) {
      patterns.workLeft = limits.patternWork;
      return made.safeParse(value);
    },
    unmatched: patterns.unmatched,
  };
}

function jsonText(schema: JsonSchema): string | undefined {
  try {
    return JSON.stringify(schema);
  } catch {
    return undefined;
  }
}

/** A keyword unknown to zod, so that it registers each schema that has it. */
const mark = "x-stratagraph-patterns";

const schemaKeywords: ReadonlySet<string> = new Set(
  "items prefixItems additionalItems additionalProperties contains propertyNames allOf anyOf oneOf".split(
    " ",
  ),
);
const schemaMapKeywords: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);

/**
 * The patterns of one JSON Schema. {@link mark} replaces them by numbered regular expressions that match nothing. zod
 * passes every marked schema to {@link registry} when it creates it; there the numbered expressions are replaced by
 * linear ones. A numbered expression that was missed would refuse every text.
 */
class Patterns {
  workLeft = 0;
  readonly unmatched: string[] = [];
  readonly #linear = new Map<string, LinearPattern>();
  readonly #seen = new WeakSet<z.core.$ZodType>();

  mark(schema: unknown, at: string): unknown {
    if (Array.isArray(schema)) return schema.map((one, index) => this.mark(one, `${at}/${index}`));
    if (!isRecord(schema)) return schema;
    const marked = Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [
        key,
        this.#markValue(key, value, `${at}/${key}`),
      ]),
    );
    this.#markPattern(marked, at);
    this.#markPatternProperties(marked, at);
    return marked;
  }

  registry(): z.core.$ZodRegistry<Record<string, unknown>> {
    const registry = z.registry<Record<string, unknown>>();
    registry.add = (schema) => {
      this.#replaceIn(schema);
      return registry;
    };
    return registry;
  }

  #markValue(key: string, value: unknown, at: string): unknown {
    if (schemaKeywords.has(key)) return this.mark(value, at);
    if (!schemaMapKeywords.has(key)) return value;
    // zod takes a list for a map with numeric keys.
    if (!isRecord(value)) return this.mark(value, at);
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, this.mark(one, `${at}/${name}`)]),
    );
  }

  #markPattern(schema: Record<string, unknown>, at: string): void {
    if (schema["pattern"] === undefined) return;
    const numbered = this.#numbered(schema["pattern"], `${at}/pattern`);
    delete schema["pattern"];
    if (numbered !== undefined) Object.assign(schema, { pattern: numbered, [mark]: true });
  }

  /**
   * Replaces pattern properties. zod compares the keys of closed objects with patterns of its own, so names are closed
   * in another way.
   */
  #markPatternProperties(schema: Record<string, unknown>, at: string): void {
    const written = schema["patternProperties"];
    delete schema["patternProperties"];
    if (!isRecord(written)) return;
    const numbered = Object.entries(written).flatMap(([pattern, value]) => {
      const place = `${at}/patternProperties/${pattern}`;
      const name = this.#numbered(pattern, place);
      return name === undefined ? [] : [[name, this.mark(value, place)] as const];
    });
    if (schema["additionalProperties"] === false) {
      delete schema["additionalProperties"];
      const isWhole = numbered.length === Object.keys(written).length;
      if (isWhole)
        this.#closeNames(
          schema,
          numbered.map(([name]) => name),
        );
    }
    if (numbered.length === 0) return;
    Object.assign(schema, { patternProperties: Object.fromEntries(numbered), [mark]: true });
  }

  #closeNames(schema: Record<string, unknown>, patterns: readonly string[]): void {
    const { properties, propertyNames } = schema;
    const names = isRecord(properties) ? Object.keys(properties) : [];
    const allowed = {
      anyOf: [
        { enum: names },
        ...patterns.map((pattern) => ({ type: "string", pattern, [mark]: true })),
      ],
    };
    schema["propertyNames"] =
      propertyNames === undefined || propertyNames === true
        ? allowed
        : {
            allOf: [
              isRecord(propertyNames) ? { type: "string", ...propertyNames } : propertyNames,
              allowed,
            ],
          };
  }

  /** Returns the numbered expression for a pattern; undefined, and recorded, if it cannot be matched. */
  #numbered(pattern: unknown, at: string): string | undefined {
    const compiled = typeof pattern === "string" ? linearPattern(pattern) : notText;
    if (!compiled.ok) {
      this.unmatched.push(`${at.slice(1)}: ${compiled.problem}`);
      return undefined;
    }
    const numbered = `(?!)${this.#linear.size}`;
    this.#linear.set(numbered, compiled.value);
    return numbered;
  }

  /**
   * Replaces the expressions in one converted schema. Subschemas carry the mark themselves; each part is visited once.
   */
  #replaceIn(schema: z.core.$ZodType): void {
    if (this.#seen.has(schema)) return;
    this.#seen.add(schema);
    const {
      _zod: { def },
    } = schema as z.core.$ZodTypes;
    for (const { _zod: check } of def.checks ?? []) this.#replacePattern(check.def);
    if (def.type === "union") for (const option of def.options) this.#replaceIn(option);
    if (def.type === "record") this.#replaceIn(def.keyType);
    if ("left" in def) for (const side of [def.left, def.right]) this.#replaceIn(side);
    if ("in" in def) for (const side of [def.in, def.out]) this.#replaceIn(side);
    if ("innerType" in def) this.#replaceIn(def.innerType);
  }

  #replacePattern(def: object): void {
    if (!("pattern" in def) || !(def.pattern instanceof RegExp)) return;
    const linear = this.#linear.get(def.pattern.source);
    if (linear !== undefined) def.pattern = this.#bounded(linear);
  }

  /** The subset of `RegExp` that zod uses. */
  #bounded({ pattern, size, test }: LinearPattern): object {
    return {
      lastIndex: 0,
      source: pattern,
      test: (text: string) => {
        this.workLeft -= size * (text.length + 1);
        if (this.workLeft < 0) throw new PatternWorkError();
        return test(text);
      },
      toString: () => `/${pattern}/`,
    };
  }
}

const notText = { ok: false, problem: "a pattern must be a string" } as const;
