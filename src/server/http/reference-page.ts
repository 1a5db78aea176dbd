import { createHash } from "node:crypto";
import { isRecord } from "../../values/json.ts";

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1e293b;background:#fff}
h2{margin-top:2.5rem;border-bottom:1px solid #cbd5e1}h3{margin-bottom:.25rem}code,pre{font:14px/1.45 ui-monospace,monospace}
pre{background:#f1f5f9;padding:.75rem;overflow:auto}table{border-collapse:collapse}td,th{border:1px solid #cbd5e1;padding:.25rem .5rem;text-align:left;vertical-align:top}
@media(prefers-color-scheme:dark){body{color:#e2e8f0;background:#0f172a}pre{background:#1e293b}}`;

/** The policy of the page: its own style, and nothing else. */
export const referencePagePolicy = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Renders an OpenAPI document as one page of HTML without scripts. */
export function renderReference(document: unknown): string {
  const { info, paths, components } = record(document);
  const title = text(record(info)["title"]);
  const operations = Object.entries(record(paths)).flatMap(([path, methods]) =>
    Object.entries(record(methods)).map(([method, operation]) => ({
      path,
      method,
      operation: record(operation),
    })),
  );
  const tags = [...new Set(operations.map(({ operation }) => tagOf(operation)))];
  const sections = tags.map((tag) => {
    const own = operations.filter(({ operation }) => tagOf(operation) === tag);
    return `<h2>${escape(tag)}</h2>${own.map(renderOperation).join("")}`;
  });
  const schemas = Object.entries(record(record(components)["schemas"])).map(
    ([name, schema]) =>
      `<h3 id="schema-${escape(name)}">${escape(name)}</h3><details><summary>JSON Schema</summary>${json(schema)}</details>`,
  );
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escape(title)}</title><style>${style}</style></head><body><h1>${escape(title)}</h1><p>${escape(text(record(info)["description"]))} The whole document: <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>${sections.join("")}<h2>Schemas</h2>${schemas.join("")}</body></html>`;
}

function renderOperation(of: {
  readonly path: string;
  readonly method: string;
  readonly operation: Record<string, unknown>;
}): string {
  const { path, method, operation } = of;
  const scopes = list(operation["x-scopes"]).map(text);
  const parameters = list(operation["parameters"]).map((one) => {
    const { in: where, name, description } = record(one);
    return row([`${text(where)} ${text(name)}`, text(description)]);
  });
  const answers = Object.entries(record(operation["responses"])).map(([status, answer]) =>
    row([status, text(record(answer)["description"])]),
  );
  const body = Object.entries(record(record(operation["requestBody"])["content"])).map(
    ([type, content]) =>
      `<p>Body: <code>${escape(type)}</code></p>${json(record(content)["schema"])}`,
  );
  return [
    `<h3><code>${escape(method.toUpperCase())} ${escape(path)}</code></h3>`,
    `<p>${escape(text(operation["summary"]))} ${escape(text(operation["description"]))}</p>`,
    scopes.length === 0 ? "" : `<p>Scopes: <code>${escape(scopes.join(", "))}</code></p>`,
    parameters.length === 0 ? "" : `<table>${parameters.join("")}</table>`,
    ...body,
    `<details><summary>Answers</summary><table>${answers.join("")}</table></details>`,
  ].join("");
}

function row(cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td>${escape(cell)}</td>`).join("")}</tr>`;
}

function json(value: unknown): string {
  return `<pre>${escape(JSON.stringify(value, null, 2) ?? "")}</pre>`;
}

function tagOf(operation: Record<string, unknown>): string {
  return text(list(operation["tags"])[0]);
}

function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(raw: string): string {
  return raw.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
