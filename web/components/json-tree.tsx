import { useState } from "preact/hooks";
import { CopyButton } from "./copy-button.tsx";
import { withPlaceholders } from "./placeholders.tsx";

/** Members that are shown before the rest is asked for. */
const firstMembers = 100;
/** Characters of a text that are shown before the rest is asked for. */
const firstCharacters = 2_000;

/** Plain JSON as a tree that opens level by level: a state of megabytes costs what is open. */
export function JsonTree({
  value,
  open = 1,
}: {
  value: unknown;
  /** Levels that are open. Default 1. */ open?: number;
}) {
  return (
    <div class="json">
      <Value value={value} open={open} />
    </div>
  );
}

function Value({ value, open }: { value: unknown; open: number }) {
  if (typeof value === "string") return <Text text={value} />;
  if (value === null || typeof value !== "object")
    return <span class="scalar">{String(value)}</span>;
  return <Members value={value} open={open} />;
}

function Text({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= firstCharacters || isWhole)
    return <span class="text">{text === "" ? '""' : withPlaceholders(text)}</span>;
  return (
    <>
      <span class="text">{withPlaceholders(text.slice(0, firstCharacters))}</span>
      <button type="button" onClick={() => setWhole(true)}>
        … {(text.length - firstCharacters).toLocaleString("en")} more characters
      </button>
    </>
  );
}

function Members({ value, open }: { value: object; open: number }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [count, setCount] = useState(firstMembers);
  const isList = Array.isArray(value);
  const keys = Object.keys(value);
  if (keys.length === 0) return <span class="faint">{isList ? "[]" : "{}"}</span>;
  const unit = `${isList ? "item" : "key"}${keys.length === 1 ? "" : "s"}`;
  const size = `${keys.length.toLocaleString("en")} ${unit}`;
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        aria-label={`${isOpen ? "Close" : "Open"} ${size}`}
      >
        {isOpen ? "▾" : "▸"} {size}
      </button>
      {isOpen && (
        <CopyButton text={() => JSON.stringify(value, null, 2)} label="Copy as JSON" isIcon />
      )}
      {isOpen && (
        <ul>
          {keys.slice(0, count).map((key) => (
            <li key={key}>
              <span class="key">{key}</span>:{" "}
              <Value value={(value as Record<string, unknown>)[key]} open={open - 1} />
            </li>
          ))}
          {keys.length > count && (
            <li>
              <button type="button" onClick={() => setCount(count + 1_000)}>
                … {(keys.length - count).toLocaleString("en")} more
              </button>
            </li>
          )}
        </ul>
      )}
    </>
  );
}
