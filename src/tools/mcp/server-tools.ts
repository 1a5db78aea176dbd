import type { ServerSpec } from "../../definition/server-schema.ts";
import type { StatelessTool } from "../../definition/tool.ts";
import { nearestName } from "../../nearest-name.ts";
import { isRecord } from "../../state/is-record.ts";
import { ServerToolsError } from "./errors.ts";
import { listedTool } from "./listed-tool.ts";
import { quoted, toolName } from "./tool-name.ts";
import type { ServerTools } from "./tool-servers.ts";

/**
 * The tools of a server as agents use them, from what it lists: those that its spec asks for, under names that models
 * take. `runOf` gives a tool's code by its own name.
 * @throws ServerToolsError where two tools have one name, or the spec names a tool that the server does not list
 */
export function serverTools(
  spec: ServerSpec,
  listed: readonly unknown[],
  runOf: (own: string) => StatelessTool["run"],
): ServerTools {
  const problems: string[] = [];
  const entries = listed.flatMap((tool, index) => {
    if (isRecord(tool) && typeof tool["name"] === "string") return [{ tool, own: tool["name"] }];
    problems.push(`Server "${spec.name}": entry ${index + 1} of its list has no name.`);
    return [];
  });
  checkNamed(spec, new Set(entries.map(({ own }) => own)));
  const wanted = spec.tools === undefined ? undefined : new Set(spec.tools);
  const ownNames = new Map<string, string>();
  const tools = entries.flatMap(({ tool, own }) => {
    if (wanted !== undefined && !wanted.has(own)) return [];
    const note = (problem: string) =>
      problems.push(`Server "${spec.name}", tool ${quoted(own)}: ${problem}.`);
    const name = toolName(own, spec.prefix);
    if (name === undefined) {
      note("left out, since its name has characters other than letters, digits and _ - . /");
      return [];
    }
    const other = ownNames.get(name);
    if (other !== undefined) throw clash(spec, [other, own], name);
    ownNames.set(name, own);
    const made = listedTool({ spec, listed: tool, own, name, run: runOf(own) });
    if ("refused" in made) {
      note(`left out: ${made.refused}`);
      return [];
    }
    made.problems.forEach(note);
    return [made.tool];
  });
  return Object.freeze({ tools: Object.freeze(tools), problems: Object.freeze(problems) });
}

/** A setting that takes effect on nothing may be one that was to make a tool safe. */
function checkNamed(spec: ServerSpec, there: ReadonlySet<string>): void {
  const named = [
    ...(spec.tools ?? []).map((name) => ["tools", name] as const),
    ...Object.keys(spec.overrides).map((name) => ["overrides", name] as const),
  ];
  for (const [where, name] of named) {
    if (there.has(name)) continue;
    const near = nearestName(name, [...there]);
    const meant = near === undefined ? "" : ` Did you mean ${quoted(near)}?`;
    throw new ServerToolsError(
      spec.name,
      `Its ${where} name ${quoted(name)}, which it does not list.${meant}`,
    );
  }
}

function clash(spec: ServerSpec, [first, second]: [string, string], name: string): Error {
  const both = first === second ? "It lists two tools" : "It lists two tools that become one";
  const which =
    first === second ? `named ${quoted(first)}` : `(${quoted(first)}, ${quoted(second)})`;
  return new ServerToolsError(
    spec.name,
    `${both} ${which}: an agent would know both as "${name}". Leave one out with the server's list of tools.`,
  );
}
