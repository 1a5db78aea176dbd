/** A part of a template: text as it is, an input by its name, or a secret by its name. */
export type TemplatePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "input"; readonly name: string }
  | { readonly kind: "secret"; readonly name: string };

const placeholder =
  /\{\{\s*secret:\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}|\{([A-Za-z_][A-Za-z0-9_-]*)\}/g;

/**
 * Splits a template of an HTTP tool into its parts. `{name}` stands for an input and `{{secret:NAME}}` for a secret; all
 * else is text. A value is put in by part, never by text, so that no value is read as a template.
 */
export function parseTemplate(template: string): readonly TemplatePart[] {
  const parts: TemplatePart[] = [];
  let end = 0;
  for (const match of template.matchAll(placeholder)) {
    const [whole, secret, input = ""] = match;
    if (match.index > end) parts.push({ kind: "text", text: template.slice(end, match.index) });
    parts.push(
      secret === undefined ? { kind: "input", name: input } : { kind: "secret", name: secret },
    );
    end = match.index + whole.length;
  }
  if (end < template.length) parts.push({ kind: "text", text: template.slice(end) });
  return parts;
}

/** Returns the names of the inputs that a template, or the texts of a JSON value, stand for; without duplicates. */
export function templateInputs(template: unknown): readonly string[] {
  return [...new Set(textsIn(template).flatMap(parseTemplate).flatMap(inputName))];
}

/** Returns the name of the input that a template consists of, or undefined if it has other parts too. */
export function soleInput(template: string): string | undefined {
  const [part, ...others] = parseTemplate(template);
  return part?.kind === "input" && others.length === 0 ? part.name : undefined;
}

function inputName(part: TemplatePart): readonly string[] {
  return part.kind === "input" ? [part.name] : [];
}

/** Returns all texts of a JSON value, keys excepted. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Returns a template with every input replaced by `x` in place of a value, which gives a URL its shape. */
export function withSampleInputs(template: string): string {
  return parseTemplate(template)
    .map((part) => (part.kind === "text" ? part.text : "x"))
    .join("");
}

/** Headers that the connection sets itself. */
const connectionHeaders: readonly string[] = [
  "accept-encoding",
  "connection",
  "content-length",
  "host",
  "transfer-encoding",
  "upgrade",
];

/** Returns why a header cannot be sent, as a clause, or undefined. Never includes the value, which may be a secret. */
export function headerProblem(name: string, value: unknown): string | undefined {
  const isToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
  if (!isToken || connectionHeaders.includes(name.toLowerCase())) {
    return `the header ${JSON.stringify(name)} cannot be set`;
  }
  if (typeof value === "string" && !/[\r\n\0]/.test(value)) return undefined;
  return `the header ${name} must be a text of one line`;
}
