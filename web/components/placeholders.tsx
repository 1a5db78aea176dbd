import type { ComponentChildren } from "preact";

/** What stands for a value that a rail has redacted, as `<EMAIL_1>`. */
const placeholder = /(<[A-Z][A-Z0-9_]{0,63}_[1-9]\d{0,8}>)/;

/** Returns a text whose placeholders of redacted values are marked as such. */
export function withPlaceholders(text: string): ComponentChildren {
  const parts = text.split(placeholder);
  if (parts.length === 1) return text;
  return parts.map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <span key={index} class="redacted" title="A rail has redacted what was here">
        {part}
      </span>
    ),
  );
}
