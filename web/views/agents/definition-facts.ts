/** A line of what a definition says. */
export interface Fact {
  readonly name: string;
  readonly value: string;
  /** Whether the definition leaves it out, so that the default holds. */
  readonly isDefault?: boolean;
}

/** A tool of a definition. */
export interface ToolFact {
  readonly name: string;
  readonly kind:
    | "registry"
    | "MCP server"
    | "HTTP request"
    | "run by the caller"
    | "@langchain/community";
  readonly about: string;
}

/** A rail of a definition. */
export interface RailFact {
  readonly where: "input" | "output" | "tools";
  readonly name: string;
  readonly about: string;
}

type Document = Readonly<Record<string, unknown>>;

/** Returns a member of a document as a document; an empty one if it is no map. Definitions of other versions are read too. */
function part(document: unknown, ...keys: readonly string[]): Document {
  let value: unknown = document;
  for (const key of keys) value = isDocument(value) ? value[key] : undefined;
  return isDocument(value) ? value : {};
}

function isDocument(value: unknown): value is Document {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value as a person reads it: texts and numbers as they are, lists with commas, maps as JSON. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The prompt of a definition: its role, its instructions and its examples. */
export function promptOf(definition: Document): {
  readonly role: string;
  readonly instructions: string;
  readonly examples: readonly { readonly input: string; readonly output: string }[];
} {
  const written = definition["system_prompt"];
  if (typeof written === "string") return { role: "", instructions: written, examples: [] };
  const { role, instructions, examples } = part(written);
  return {
    role: text(role),
    instructions: text(instructions),
    examples: (Array.isArray(examples) ? examples : []).map((one: unknown) => {
      const { input, output } = part(one);
      return { input: text(input), output: text(output) };
    }),
  };
}

/** The entries of `tools`, each with what it is. */
export function toolsOf({ tools }: Document): readonly ToolFact[] {
  return (Array.isArray(tools) ? tools : []).map((tool: unknown): ToolFact => {
    if (!isDocument(tool)) return { name: plain(tool), kind: "registry", about: "" };
    if (isDocument(tool["mcp"])) {
      const { name, transport, endpoint, command, tools: own } = tool["mcp"];
      const at = text(endpoint) || text(command);
      const only = Array.isArray(own) ? `: ${plain(own)}` : "";
      return { name: plain(name), kind: "MCP server", about: `${text(transport)} ${at}${only}` };
    }
    if (isDocument(tool["community"]))
      return { name: plain(tool["community"]["tool"]), kind: "@langchain/community", about: "" };
    const { type, method, endpoint } = part(tool, "transport");
    const isHttp = type === "http";
    const about = text(tool["description"]);
    return {
      name: plain(tool["name"]),
      kind: isHttp ? "HTTP request" : "run by the caller",
      about: isHttp ? `${text(method) || "GET"} ${text(endpoint)}. ${about}` : about,
    };
  });
}

/** The rails around input, output and tools. */
export function railsOf(definition: Document): readonly RailFact[] {
  const rails = (where: "input" | "output", list: unknown): readonly RailFact[] =>
    (Array.isArray(list) ? list : []).map((rail: unknown) => {
      const { type, name, config, on_error: onError } = part(rail);
      return {
        where,
        name: type === "custom" && typeof name === "string" ? name : plain(type),
        about: [
          ...Object.entries(part(config)).map(([key, value]) => `${key}: ${plain(value)}`),
          ...(onError === undefined ? [] : [`on error: ${plain(onError)}`]),
        ].join(" · "),
      };
    });
  const { input_rails: input, output_rails: output } = part(definition, "guardrail_config");
  const { rules, ...limits } = part(definition, "guardrail_config", "tool_rails");
  return [
    ...rails("input", input),
    ...Object.entries(limits).map(([key, value]): RailFact => {
      return { where: "tools", name: label(key), about: plain(value) };
    }),
    ...(Array.isArray(rules) ? rules : []).map((rule: unknown): RailFact => {
      const { tool, ...rest } = part(rule);
      const about = Object.entries(rest).map(([key, value]) => `${label(key)}: ${plain(value)}`);
      return { where: "tools", name: plain(tool ?? "all tools"), about: about.join(" · ") };
    }),
    ...rails("output", output),
  ];
}

/** Keys of the sections that have facts, with the defaults of those that matter to a run. */
const sections = [
  {
    title: "Model",
    key: "llm_config",
    defaults: { default_model: "of the server", fallback_model: "none" },
  },
  {
    title: "Execution and limits",
    key: "execution_config",
    defaults: {
      mode: "fast",
      max_iterations: 10,
      max_attempts: 3,
      max_turns: 25,
      timeout_seconds: 60,
      checkpoint_frequency: "on_change",
    },
  },
  {
    title: "Context",
    key: "context_config",
    defaults: { utilization: "medium", whole_results: "turn" },
  },
  { title: "Tool selection", key: "tool_selection", defaults: {} },
  { title: "State", key: "state_config", defaults: {} },
] as const;

/** Facts by section: what the definition says, and the defaults of what it leaves out. */
export function factsOf(
  definition: Document,
): readonly { readonly title: string; readonly facts: readonly Fact[] }[] {
  const memory = ["short_term", "long_term", "procedural"].flatMap((kind) =>
    flat(part(definition, "memory_config", kind), `${label(kind)}: `),
  );
  const isRemembering = part(definition, "memory_config", "long_term")["enabled"] === true;
  return [
    ...sections.map(({ title, key, defaults }) => {
      const written = part(definition, key);
      const left = Object.entries(defaults).filter(([name]) => !(name in written));
      return {
        title,
        facts: [
          ...flat(written),
          ...left.map(([name, value]) => {
            return { name: label(name), value: String(value), isDefault: true };
          }),
        ],
      };
    }),
    {
      title: "Memory",
      facts: [
        ...memory,
        ...(isRemembering
          ? []
          : [{ name: "long term", value: "off: it forgets between threads", isDefault: true }]),
      ],
    },
    {
      title: "Permissions",
      facts: Array.isArray(definition["permissions"])
        ? [{ name: "grants", value: plain(definition["permissions"]) }]
        : [],
    },
  ].filter(({ facts }) => facts.length > 0);
}

function flat(document: Document, prefix = ""): readonly Fact[] {
  return Object.entries(document).flatMap(([key, value]) =>
    isDocument(value) && Object.keys(value).length > 0
      ? flat(value, `${prefix}${label(key)}: `)
      : [{ name: `${prefix}${label(key)}`, value: plain(value) }],
  );
}

function label(key: string): string {
  return key.replaceAll("_", " ");
}
