import { useState } from "preact/hooks";
import type { JsonSchema } from "../../api/document.ts";
import { type Definitions, resolve, typeText } from "./schema-text.ts";

interface SchemaProps {
  readonly schema: JsonSchema;
  /** Schemas that references name. */
  readonly definitions: Definitions;
}

/** A JSON Schema as a list of members that open level by level: a schema may contain itself. */
export function SchemaView({ schema, definitions }: SchemaProps) {
  const resolved = resolve(schema, definitions);
  const members = membersOf(resolved, definitions);
  return (
    <div class="schema-view">
      {resolved.description !== undefined && <p class="soft">{resolved.description}</p>}
      {members.length === 0 ? (
        <code>{typeText(schema, definitions)}</code>
      ) : (
        <Members members={members} definitions={definitions} />
      )}
    </div>
  );
}

interface SchemaMember {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

function Members({
  members,
  definitions,
}: {
  members: readonly SchemaMember[];
  definitions: Definitions;
}) {
  return (
    <ul>
      {members.map((member, index) => (
        <MemberItem key={index} {...member} definitions={definitions} />
      ))}
    </ul>
  );
}

function MemberItem({ name, schema, isRequired, definitions }: SchemaMember & SchemaProps) {
  const [isOpen, setOpen] = useState(false);
  const resolved = resolve(schema, definitions);
  const inner = membersOf(resolved, definitions);
  return (
    <li>
      <div class="member">
        {inner.length > 0 ? (
          <button
            type="button"
            class="name"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {name}
          </button>
        ) : (
          <span class="name">{name}</span>
        )}
        <code class="faint">{typeText(schema, definitions)}</code>
        {isRequired && <span class="required">required</span>}
        {resolved.default !== undefined && (
          <span class="faint">
            default <code>{JSON.stringify(resolved.default)}</code>
          </span>
        )}
        <span class="about">{schema.description ?? resolved.description}</span>
      </div>
      {isOpen && <Members members={inner} definitions={definitions} />}
    </li>
  );
}

/** The members of a map, of the items of a list, or of the alternatives of a choice. */
function membersOf(schema: JsonSchema, definitions: Definitions): readonly SchemaMember[] {
  const { properties, required = [], items, additionalProperties } = schema;
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (properties !== undefined)
    return Object.entries(properties).map(([name, one]) => {
      return { name, schema: one, isRequired: required.includes(name) };
    });
  if (typeof items === "object" && isNested(items, definitions))
    return [{ name: "each item", schema: items, isRequired: false }];
  if (typeof additionalProperties === "object" && isNested(additionalProperties, definitions))
    return [{ name: "each member", schema: additionalProperties, isRequired: false }];
  return (alternatives ?? [])
    .filter((one) => isNested(one, definitions))
    .map((one) => ({ name: alternativeName(one, definitions), schema: one, isRequired: false }));
}

/** Whether a schema has something to open. Looks one level deep, so that it ends. */
function isNested(schema: JsonSchema, definitions: Definitions): boolean {
  const { properties, items, additionalProperties, oneOf, anyOf } = resolve(schema, definitions);
  return [properties, items, additionalProperties, oneOf, anyOf].some(
    (one) => typeof one === "object",
  );
}

/** What tells an alternative from the others: the value of its constant, or its type. */
function alternativeName(schema: JsonSchema, definitions: Definitions): string {
  const resolved = resolve(schema, definitions);
  const fixed = Object.entries(resolved.properties ?? {}).find(
    ([, one]) => one.const !== undefined,
  );
  if (fixed !== undefined) return `${fixed[0]}: ${String(fixed[1].const)}`;
  const names = Object.keys(resolved.properties ?? {});
  return names.length > 0 ? `with ${names[0]}` : typeText(schema, definitions);
}
