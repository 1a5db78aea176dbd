import { useEffect, useState } from "preact/hooks";

interface TypedFieldProps {
  readonly id?: string;
  /** Name of the field. */
  readonly label: string;
  /** Default: the label. */
  readonly placeholder?: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  /** Whether it takes the room that is left in its row. */
  readonly grows?: boolean;
}

/** Milliseconds without a key before a text counts. */
const pauseMs = 250;

/** A field for what to look for, whose text counts once typing has paused. */
export function TypedField(props: TypedFieldProps) {
  const { id, label, placeholder = label, value, onChange, grows = false } = props;
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(() => onChange(typed), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <input
      id={id}
      class={grows ? "input grow" : "input"}
      type="search"
      aria-label={label}
      placeholder={placeholder}
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
    />
  );
}
