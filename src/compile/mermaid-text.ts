/** A graph as its JSON has it. */
export interface DrawnGraph {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}

export interface DrawnNode {
  /** Names of the agent nodes around it and its own, joined by colons. */
  readonly id: string;
  readonly metadata?: { readonly type?: string; readonly description?: string };
}

export interface DrawnEdge {
  readonly source: string;
  readonly target: string;
  readonly data?: string;
  readonly conditional?: boolean;
}

/** Mermaid's brackets around the text of a node. */
const shapes: Readonly<Record<string, readonly [string, string]>> = {
  start: ["([", "])"],
  end: ["([", "])"],
  llm: ["(", ")"],
  tool: ["[[", "]]"],
  router: ["{", "}"],
  human: ["{{", "}}"],
  agent: ["[/", "/]"],
  lifecycle: ["([", "])"],
};

/** Fill, outline and text: readable on white paper and on a dark page alike. */
const looks: Readonly<Record<string, string>> = {
  start: "fill:#334155,stroke:#334155,color:#ffffff",
  end: "fill:#334155,stroke:#334155,color:#ffffff",
  lifecycle: "fill:#f8fafc,stroke:#cbd5e1,color:#64748b",
  llm: "fill:#eef2ff,stroke:#6366f1,color:#312e81",
  tool: "fill:#ecfdf5,stroke:#10b981,color:#064e3b",
  router: "fill:#fffbeb,stroke:#f59e0b,color:#78350f",
  human: "fill:#fdf2f8,stroke:#ec4899,color:#831843",
  agent: "fill:#f0f9ff,stroke:#0ea5e9,color:#0c4a6e",
};

const groupLook = "fill:#f8fafc,stroke:#94a3b8,color:#334155";

/** A graph as Mermaid text: descriptions in the nodes, shapes and colours by type. */
export function mermaidText(graph: DrawnGraph, escape: Escape = asEntity): string {
  const text = (line: string) => escapeText(line.replaceAll(/\s+/g, " ").trim(), escape);
  const groups = groupsOf(graph.nodes);
  const names = [...graph.nodes.map(({ id }) => id), ...groups.all];
  const ids = mermaidIds(names);
  const idOf = (name: string) => ids.get(name) ?? name;
  const types = new Set(graph.nodes.map(typeOf));
  const drawLevel = (level: string, indent: string): string[] => [
    ...graph.nodes
      .filter(({ id }) => groupOf(id) === level)
      .map((node) => `${indent}${idOf(node.id)}${nodeText(node, text)}`),
    ...(groups.inside.get(level) ?? []).flatMap((group) => [
      `${indent}subgraph ${idOf(group)}["\`**${text(lastName(group))}**\`"]`,
      ...drawLevel(group, `${indent}  `),
      `${indent}end`,
    ]),
  ];
  const lines = [
    "flowchart TD",
    ...drawLevel("", "  "),
    ...graph.edges.map(
      (edge) => `  ${idOf(edge.source)} ${arrow(edge, text)} ${idOf(edge.target)}`,
    ),
    ...Object.entries(looks)
      .filter(([type]) => types.has(type))
      .map(([type, look]) => `  classDef ${classOf(type)} ${look}`),
    ...(groups.all.length > 0
      ? [`  classDef is_group ${groupLook}`, `  class ${groups.all.map(idOf).join(",")} is_group`]
      : []),
  ];
  return `${lines.join("\n")}\n`;
}

function typeOf({ id, metadata }: DrawnNode): string {
  if (id === "__start__") return "start";
  if (id === "__end__") return "end";
  const type = metadata?.type ?? "";
  return type in looks ? type : "lifecycle";
}

/** Not the type itself: `end` is a word of Mermaid's. */
function classOf(type: string): string {
  return `is_${type}`;
}

function nodeText(node: DrawnNode, text: (line: string) => string): string {
  const type = typeOf(node);
  const [open, close] = shapes[type] ?? ["[", "]"];
  const about = text(node.metadata?.description ?? "");
  const label =
    type === "start" || type === "end"
      ? type.toUpperCase()
      : // A Markdown string keeps its lines apart; Mermaid breaks the long ones.
        `\`**${text(lastName(node.id))}**${about === "" ? "" : `\n${about}`}\``;
  return `${open}"${label}"${close}:::${classOf(type)}`;
}

function arrow({ data, conditional = false }: DrawnEdge, text: (line: string) => string): string {
  const line = conditional ? "-.->" : "-->";
  return data === undefined ? line : `${line}|"${text(data)}"|`;
}

function lastName(id: string): string {
  return id.slice(id.lastIndexOf(":") + 1);
}

function groupOf(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf(":")));
}

/** The agent nodes that are drawn with what is inside of them, by the one around them (empty: none). */
function groupsOf(nodes: readonly DrawnNode[]) {
  const all = new Set<string>();
  for (const { id } of nodes) {
    for (let group = groupOf(id); group !== ""; group = groupOf(group)) all.add(group);
  }
  const inside = new Map<string, string[]>();
  for (const group of all) {
    const around = groupOf(group);
    inside.set(around, [...(inside.get(around) ?? []), group]);
  }
  return { all: [...all], inside };
}

/** How a character is written where Mermaid would read it as its own. */
export type Escape = (character: string) => string;

/** Mermaid's entities: for text that is shown as HTML, as web pages do. */
export const asEntity: Escape = (character) => `#${character.charCodeAt(0)};`;

/** Where Mermaid draws text as SVG it leaves entities as they are; then a character that means nothing stands in. */
export const asStandIn: Escape = (character) =>
  String.fromCharCode(firstStandIn + character.charCodeAt(0));

/** In Unicode's area for private use. */
const firstStandIn = 0xe000;

/** Puts into SVG what {@link asStandIn} stood in for. */
export function withoutStandIns(svg: string): string {
  return svg.replaceAll(/[\ue000-\ue07f]/g, (found) => `&#${found.charCodeAt(0) - firstStandIn};`);
}

/** What Mermaid, HTML or Markdown may read as markup anywhere in a text: links and names of icons too. */
const markup =
  /["#&<>`%$*_~\\[\]@|]|(?<=:)\/(?=\/)|(?<=\bwww)\.|(?<=\bfa[a-z]?):|[\ue000-\uf8ff]/gi;

/** Lists, headings and rules, where a line begins. Not `#`, with which entities begin. */
const markupAtStart = /^(\d*)([!$-/:-@[-^{-~])/;

/** @param text one line */
export function escapeText(text: string, escape: Escape): string {
  return text
    .replaceAll(markup, (found) => (found < "\u0080" ? escape(found) : "\ufffd"))
    .replace(markupAtStart, (_, digits: string, sign: string) => digits + escape(sign));
}

/** Words of Mermaid's that are no ids, in lower case. */
const reserved: ReadonlySet<string> = new Set([
  "end",
  "graph",
  "flowchart",
  "subgraph",
  "style",
  "linkstyle",
  "classdef",
  "class",
  "click",
  "call",
  "href",
  "default",
  "interpolate",
  "direction",
  "tb",
  "td",
  "bt",
  "rl",
  "lr",
  "acctitle",
  "accdescr",
  "title",
]);

/** An id for each name that Mermaid takes, as near to the name as can be, and no two the same. */
export function mermaidIds(names: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  const ids = new Map<string, string>();
  for (const name of names) {
    const plain = name.replaceAll(/\W/g, "_");
    const base = reserved.has(plain.toLowerCase()) ? `${plain}_` : plain;
    let id = base;
    for (let number = 2; taken.has(id); number += 1) id = `${base}_${number}`;
    taken.add(id);
    ids.set(name, id);
  }
  return ids;
}
