import { isRecord } from "../../state/is-record.ts";
import { plainLine } from "./plain-text.ts";

const mostCharacters = 300;
const mostLevels = 4;
const mostFields = 12;

/**
 * The shape of an answer that a JSON Schema asks for, as JSON with the types in the places of values, such as
 * `{"pieces":"<integer>"}`. Objects have what they require, or where that is nothing all that they may have. A shape
 * of more than 300 characters loses its inner levels.
 *
 * @param schema of the answer
 * @param definitions by reference, such as `#/$defs/name`
 */
export function answerTemplate(schema: unknown, definitions: ReadonlyMap<string, unknown>): string {
  const texts = Array.from({ length: mostLevels }, (_, at) => {
    const shape = shapeOf(schema, definitions, mostLevels - at);
    return typeof shape === "string" ? shape : JSON.stringify(shape);
  });
  return texts.find((text) => text.length <= mostCharacters) ?? placeholder("JSON");
}

function shapeOf(
  schema: unknown,
  definitions: ReadonlyMap<string, unknown>,
  levels: number,
): unknown {
  const one = resolved(schema, definitions);
  if (!isRecord(one)) return placeholder("JSON");
  if (Array.isArray(one["enum"])) {
    return placeholder(one["enum"].slice(0, mostFields).map(valueText).join(" | "));
  }
  if (Object.hasOwn(one, "const"))
    return typeof one["const"] === "object" ? placeholder("JSON") : one["const"];
  const type = [one["type"]].flat().find((name) => name !== "null");
  if (type === "array") {
    return levels > 1 ? [shapeOf(one["items"], definitions, levels - 1)] : placeholder("array");
  }
  if (type !== "object" && !isRecord(one["properties"])) {
    return placeholder(typeof type === "string" ? type : "JSON");
  }
  return levels > 1 ? objectShape(one, definitions, levels) : placeholder("object");
}

function objectShape(
  { properties, required }: Readonly<Record<string, unknown>>,
  definitions: ReadonlyMap<string, unknown>,
  levels: number,
): unknown {
  if (!isRecord(properties)) return placeholder("object");
  const needed = Array.isArray(required) ? required : [];
  const names = Object.keys(properties);
  const shown = names.filter((name) => needed.includes(name));
  const fields = (shown.length > 0 ? shown : names).slice(0, mostFields);
  return Object.fromEntries(
    fields.map((name) => [name, shapeOf(properties[name], definitions, levels - 1)]),
  );
}

/** What references lead to, and the first of alternatives; undefined where that leads round in a circle. */
function resolved(schema: unknown, definitions: ReadonlyMap<string, unknown>): unknown {
  let one = schema;
  for (let jumps = 0; jumps < 8 && isRecord(one); jumps += 1) {
    const alternatives: unknown = one["anyOf"] ?? one["oneOf"] ?? one["allOf"];
    if (typeof one["$ref"] === "string") one = definitions.get(one["$ref"]);
    else if (Array.isArray(alternatives) && one["type"] === undefined) one = alternatives[0];
    else return one;
  }
  return undefined;
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function placeholder(text: string): string {
  return `<${plainLine(text)}>`;
}
