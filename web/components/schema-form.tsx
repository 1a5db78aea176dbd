import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import "../styles/schema-form.css";
import {
  checkValue,
  escapePart,
  type Field,
  fieldOf,
  initialValue,
  isRecord,
  memberOf,
  type Problem,
  problemsAt,
  type Schema,
  variantOf,
} from "./schema/fields.ts";
import { isUnreadable, JsonField, Problems, Scalar } from "./schema/inputs.tsx";

export interface SchemaFormProps {
  readonly schema: Schema;
  /** The value with which the form begins. Default: what the schema's defaults and constants say. */
  readonly initial?: unknown;
  /** Problems that the server found; pointers are into the value. */
  readonly problems?: readonly Problem[];
  readonly submitLabel: string;
  readonly isBusy?: boolean;
  /** Called with a value in which no problem is known. */
  readonly onSubmit: (value: unknown) => void;
  /** Called with each change. */
  readonly onChange?: (value: unknown) => void;
  /** Beside the button that submits. */
  readonly actions?: ComponentChildren;
  /** Between the fields and the buttons. */
  readonly children?: ComponentChildren;
}

/** A form for a value of a JSON Schema. It can be written as JSON instead. */
export function SchemaForm(props: SchemaFormProps) {
  const { schema, problems = [], isBusy = false, onSubmit, submitLabel } = props;
  const form = useRef<HTMLFormElement>(null);
  const [value, setValue] = useState<unknown>(() => props.initial ?? initialValue(schema, schema));
  const [found, setFound] = useState<readonly Problem[]>([]);
  const [isJson, setJson] = useState(() => fieldOf(schema, schema).kind === "raw");
  const change = (next: unknown) => {
    setValue(next);
    props.onChange?.(next);
    if (found.length > 0) setFound(checkValue(schema, next, schema));
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const wrong = isUnreadable(value)
      ? [{ pointer: "", detail: "This is no JSON." }]
      : checkValue(schema, value, schema);
    setFound(wrong);
    if (wrong.length === 0) return onSubmit(value);
    requestAnimationFrame(() =>
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    );
  };
  const all = [...found, ...problems];
  return (
    <form class="schema-form" ref={form} onSubmit={submit} noValidate>
      {isJson ? (
        <JsonField label="Value as JSON" value={value} onChange={change} problems={all} />
      ) : (
        <SchemaFields schema={schema} value={value} onChange={change} problems={all} />
      )}
      {props.children}
      <div class="row">
        <button type="submit" class="button primary" disabled={isBusy}>
          {submitLabel}
        </button>
        {props.actions}
        <button
          type="button"
          class="button small plain push"
          onClick={() => !isUnreadable(value) && setJson(!isJson)}
          aria-pressed={isJson}
        >
          {isJson ? "Show fields" : "Edit as JSON"}
        </button>
      </div>
    </form>
  );
}

interface FieldsProps {
  readonly schema: Schema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly problems: readonly Problem[];
}

/** The fields of a schema, without a form around them. */
export function SchemaFields({ schema, value, onChange, problems }: FieldsProps) {
  const place = { root: schema, problems, pointer: "", depth: 0 };
  return <Part schema={schema} value={value} onChange={onChange} name="" {...place} />;
}

interface PartProps extends FieldsProps {
  readonly root: Schema;
  readonly pointer: string;
  readonly depth: number;
  /** Where the schema has no title; empty for the whole value. */
  readonly name: string;
  readonly isRequired?: boolean;
  /** Takes the part away. */
  readonly onRemove?: (() => void) | undefined;
}

function Part(props: PartProps) {
  const { schema, root, depth } = props;
  const field = fieldOf(schema, root, depth);
  switch (field.kind) {
    case "object":
      return <ObjectPart {...props} members={field.members} />;
    case "list":
      return <ListPart {...props} field={field} />;
    case "variants":
      return <VariantsPart {...props} options={field.options} />;
    case "fixed":
      // Nothing is asked where there is one answer.
      return depth === 0 ? <code class="faint">{JSON.stringify(field.value)}</code> : null;
    case "raw":
      return (
        <JsonField
          label={labelOf(props)}
          hint={hintOf(props)}
          value={props.value}
          onChange={props.onChange}
          problems={problemsAt(props.problems, props.pointer)}
          isRequired={props.isRequired}
        />
      );
    default:
      return (
        <Scalar
          field={field}
          label={labelOf(props) || "Value"}
          hint={hintOf(props)}
          value={props.value}
          onChange={props.onChange}
          problems={problemsAt(props.problems, props.pointer)}
          isRequired={props.isRequired === true || props.pointer === ""}
        />
      );
  }
}

function ObjectPart(props: PartProps & { members: Extract<Field, { kind: "object" }>["members"] }) {
  const { members, value, onChange, pointer, depth } = props;
  const given = isRecord(value) ? value : {};
  const pointers = members.map(({ name }) => `${pointer}/${escapePart(name)}`);
  const set = (name: string, member: unknown) => {
    const { [name]: _before, ...rest } = given;
    onChange(member === undefined ? rest : { ...given, [name]: member });
  };
  const isWhole = depth === 0;
  return (
    <Group {...props} problems={problemsAt(props.problems, pointer, pointers)} isPlain={isWhole}>
      {members.map(({ name, schema, isRequired }, index) => {
        const member = memberOf(given, name);
        const { kind } = fieldOf(schema, props.root, depth + 1);
        const isGroup = kind === "object" || kind === "list" || kind === "variants";
        if (isGroup && member === undefined && !isRequired)
          return (
            <button
              key={name}
              type="button"
              class="button small"
              onClick={() => set(name, initialValue(schema, props.root) ?? empty(kind))}
            >
              Add {titleIn(schema) ?? name}
            </button>
          );
        return (
          <Part
            key={name}
            schema={schema}
            root={props.root}
            name={name}
            value={member}
            onChange={(next) => set(name, next)}
            problems={props.problems}
            pointer={pointers[index] ?? ""}
            depth={depth + 1}
            isRequired={isRequired}
            onRemove={isGroup && !isRequired ? () => set(name, undefined) : undefined}
          />
        );
      })}
    </Group>
  );
}

function empty(kind: "object" | "list" | "variants"): unknown {
  return kind === "list" ? [] : kind === "object" ? {} : null;
}

function ListPart(props: PartProps & { field: Extract<Field, { kind: "list" }> }) {
  const { field, value, onChange, pointer, depth } = props;
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const pointers = items.map((_, index) => `${pointer}/${index}`);
  const remove = (index: number) => onChange(items.filter((_, at) => at !== index));
  return (
    <Group {...props} problems={problemsAt(props.problems, pointer, pointers)}>
      {items.map((item, index) => (
        <div class="item" key={index}>
          <Part
            schema={field.items}
            root={props.root}
            name={`${index + 1}`}
            value={item}
            onChange={(next) => onChange(items.map((one, at) => (at === index ? next : one)))}
            problems={props.problems}
            pointer={pointers[index] ?? ""}
            depth={depth + 1}
            isRequired
          />
          <button
            type="button"
            class="button small plain"
            aria-label={`Remove item ${index + 1}`}
            onClick={() => remove(index)}
          >
            ✕
          </button>
        </div>
      ))}
      {items.length < field.max && (
        <button
          type="button"
          class="button small"
          onClick={() => onChange([...items, initialValue(field.items, props.root) ?? null])}
        >
          Add item
        </button>
      )}
    </Group>
  );
}

function VariantsPart(
  props: PartProps & { options: Extract<Field, { kind: "variants" }>["options"] },
) {
  const { options, root, value, onChange, depth } = props;
  const [chosen, choose] = useState(() => variantOf(options, value, root));
  const id = useId();
  const { schema } = options[chosen] ?? { schema: {} };
  return (
    <Group {...props} problems={[]}>
      <select
        id={id}
        class="input"
        aria-label={labelOf(props) || "Form of the value"}
        value={String(chosen)}
        onChange={(event) => {
          const index = Number(event.currentTarget.value);
          choose(index);
          onChange(initialValue(options[index]?.schema, root));
        }}
      >
        {options.map(({ title }, index) => (
          <option key={title} value={String(index)}>
            {title}
          </option>
        ))}
      </select>
      <Part
        {...props}
        key={chosen}
        schema={schema}
        name=""
        depth={depth + 1}
        onRemove={undefined}
      />
    </Group>
  );
}

/** Parts that belong together: a heading and a line at their side. */
function Group(
  props: PartProps & {
    problems: readonly Problem[];
    isPlain?: boolean;
    children: ComponentChildren;
  },
) {
  const { problems, isPlain = false, onRemove, children } = props;
  const label = labelOf(props);
  const hint = hintOf(props);
  return (
    <fieldset class={isPlain ? "parts" : "parts nested"}>
      {!isPlain && label !== "" && (
        <legend>
          {label}
          {onRemove !== undefined && (
            <button type="button" class="button small plain" onClick={onRemove}>
              Remove<span class="visually-hidden"> {label}</span>
            </button>
          )}
        </legend>
      )}
      {hint !== "" && <p class="hint">{hint}</p>}
      {children}
      <Problems problems={problems} />
    </fieldset>
  );
}

function titleIn({ title }: Schema): string | null {
  return typeof title === "string" && title !== "" ? title : null;
}

function labelOf({ schema, name }: Pick<PartProps, "schema" | "name">): string {
  return titleIn(schema) ?? name;
}

function hintOf({ schema: { description } }: Pick<PartProps, "schema">): string {
  return typeof description === "string" ? description : "";
}
