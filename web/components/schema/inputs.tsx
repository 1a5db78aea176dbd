import { useId, useState } from "preact/hooks";
import type { Field, Problem } from "./fields.ts";

type ScalarField = Extract<Field, { kind: "text" | "number" | "boolean" | "choice" }>;

/** The input of one value, with its label, its limits and what is wrong with it. */
export function Scalar(props: {
  readonly field: ScalarField;
  readonly label: string;
  readonly hint: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly problems: readonly Problem[];
  readonly isRequired: boolean;
}) {
  const { field, value, onChange, problems, isRequired, label } = props;
  const id = useId();
  const hint = [props.hint, limitsOf(field)].filter((one) => one !== "").join(" ");
  const described = {
    id,
    "aria-invalid": problems.length > 0,
    "aria-describedby": `${id}-more`,
    "aria-required": isRequired,
  };
  if (field.kind === "boolean")
    return (
      <div class="field">
        <label class="check">
          <input
            type="checkbox"
            {...described}
            checked={value === true}
            onChange={(event) => onChange(event.currentTarget.checked)}
          />
          {label}
        </label>
        <More id={id} hint={hint} problems={problems} />
      </div>
    );
  return (
    <div class="field">
      <label for={id}>
        {label}
        {!isRequired && <span class="optional">optional</span>}
      </label>
      {field.kind === "choice" ? (
        <Choice {...described} options={field.options} value={value} onChange={onChange} />
      ) : field.kind === "number" ? (
        <NumberInput {...described} value={value} onChange={onChange} />
      ) : (
        <TextInput {...described} field={field} value={value} onChange={onChange} />
      )}
      <More id={id} hint={hint} problems={problems} />
    </div>
  );
}

function More({ id, hint, problems }: { id: string; hint: string; problems: readonly Problem[] }) {
  return (
    <div id={`${id}-more`}>
      {hint !== "" && <p class="hint">{hint}</p>}
      <Problems problems={problems} />
    </div>
  );
}

/** What is wrong, in one line. */
export function Problems({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <p class="problem" role="alert">
      {problems.map(({ detail }) => detail).join(" ")}
    </p>
  );
}

interface InputProps {
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly id: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string;
}

function Choice({
  options,
  value,
  onChange,
  ...described
}: InputProps & { options: readonly unknown[] }) {
  const at = options.findIndex((option) => JSON.stringify(option) === JSON.stringify(value));
  return (
    <select
      class="input"
      {...described}
      value={String(at)}
      onChange={(event) => onChange(options[Number(event.currentTarget.value)])}
    >
      <option value="-1">Choose…</option>
      {options.map((option, index) => (
        <option key={index} value={String(index)}>
          {typeof option === "string" ? option : JSON.stringify(option)}
        </option>
      ))}
    </select>
  );
}

/** What is typed stays as it is: `1.` and `-` are on the way to a number. */
function NumberInput({ value, onChange, ...described }: InputProps) {
  const [text, setText] = useState(shownText(value));
  const read = (typed: string) =>
    typed.trim() === "" ? undefined : Number.isNaN(Number(typed)) ? typed : Number(typed);
  const shown = read(text) === value ? text : shownText(value);
  return (
    <input
      class="input number"
      {...described}
      type="text"
      inputMode="decimal"
      value={shown}
      onInput={(event) => {
        setText(event.currentTarget.value);
        onChange(read(event.currentTarget.value));
      }}
    />
  );
}

function TextInput({
  field,
  value,
  onChange,
  ...described
}: InputProps & { field: Extract<Field, { kind: "text" }> }) {
  const text = shownText(value);
  const set = (typed: string) => onChange(typed === "" ? undefined : typed);
  const shared = { class: "input", ...described, spellcheck: false };
  if (field.isLong || text.length > 200 || text.includes("\n"))
    return (
      <textarea
        {...shared}
        rows={5}
        value={text}
        onInput={(event) => set(event.currentTarget.value)}
      />
    );
  switch (field.format) {
    case "date-time":
      return (
        <input
          {...shared}
          type="datetime-local"
          step="1"
          value={toLocalTime(text)}
          onInput={({ currentTarget: { value: typed } }) =>
            set(typed === "" ? "" : new Date(typed).toISOString())
          }
        />
      );
    case "time":
      return (
        <input
          {...shared}
          type="time"
          step="1"
          value={text.slice(0, 8)}
          onInput={({ currentTarget: { value: typed } }) =>
            set(typed === "" ? "" : `${typed.length === 5 ? `${typed}:00` : typed}Z`)
          }
        />
      );
    default:
      return (
        <input
          {...shared}
          {...typeOf(field.format)}
          value={text}
          onInput={(event) => set(event.currentTarget.value)}
        />
      );
  }
}

/** A time as `datetime-local` inputs show it. */
function toLocalTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Text that is no JSON yet. It is kept, so that a form can be corrected. */
class Unreadable {
  constructor(readonly text: string) {}
}

/** Returns whether a value has text in it that is no JSON. */
export function isUnreadable(value: unknown): boolean {
  if (value instanceof Unreadable) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(isUnreadable);
}

/** A value as JSON. */
export function JsonField({
  label,
  hint = "",
  value,
  onChange,
  problems,
  isRequired = true,
}: {
  label: string;
  hint?: string;
  value: unknown;
  onChange: (value: unknown) => void;
  problems: readonly Problem[];
  isRequired?: boolean | undefined;
}) {
  const id = useId();
  const [text, setText] = useState(() => textOf(value));
  const read = (typed: string): unknown => {
    if (typed.trim() === "") return undefined;
    try {
      return JSON.parse(typed);
    } catch {
      return new Unreadable(typed);
    }
  };
  const unreadable =
    value instanceof Unreadable ? [{ pointer: "", detail: "This is no JSON." }] : problems;
  return (
    <div class="field">
      <label for={id}>
        {label || "Value"}
        {!isRequired && <span class="optional">optional</span>}
      </label>
      <textarea
        id={id}
        class="input mono"
        rows={Math.min(16, Math.max(3, text.split("\n").length))}
        spellcheck={false}
        value={text}
        aria-invalid={unreadable.length > 0}
        aria-describedby={`${id}-more`}
        onInput={(event) => {
          setText(event.currentTarget.value);
          onChange(read(event.currentTarget.value));
        }}
      />
      <More id={id} hint={hint} problems={unreadable} />
    </div>
  );
}

function textOf(value: unknown): string {
  if (value instanceof Unreadable) return value.text;
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}


function shownText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value);
}

function typeOf(format: "date" | "email" | "uri" | null) {
  if (format === "date") return { type: "date" } as const;
  if (format === "email") return { type: "email" } as const;
  return format === "uri" ? ({ type: "url" } as const) : ({ type: "text" } as const);
}

function limitsOf(field: Field): string {
  if (field.kind === "text") {
    if (field.format === "time") return "In UTC.";
    return Number.isFinite(field.max) ? `At most ${field.max} characters.` : "";
  }
  if (field.kind !== "number") return "";
  const { min, max } = field;
  if (min !== null && max !== null) return `From ${min} to ${max}.`;
  if (min !== null) return `At least ${min}.`;
  return max === null ? "" : `At most ${max}.`;
}
