import { dirname, isAbsolute, join, resolve } from "node:path";
import type { AgentDefinition } from "../agent-definition.ts";
import { buildDefinition } from "../build-definition.ts";
import {
  agentInputProblems,
  type AgentReference,
  agentReferences,
  isAgentPath,
  maxAgentDepth,
  findNestedToolNames,
} from "../check/agents.ts";
import {
  type DefinitionPath,
  type DefinitionProblem,
  InvalidDefinitionError,
  showFound,
} from "../check/problems.ts";
import { railProblems, writtenTools } from "../check/tools.ts";
import { DefinitionFileError, readDefinition, readDefinitionFile } from "./parse-definition.ts";

/**
 * Loads and checks an agent definition from a `.yaml`, `.yml` or `.json` file. Also loads the agents that its nodes
 * name by path, relative to the referring file.
 *
 * @throws DefinitionFileError for a file that is missing, too large or of another type; InvalidDefinitionError with
 * every problem of the definition and of those it names, each with file, line, column and path
 */
export async function loadAgent(path: string): Promise<AgentDefinition> {
  const loaded = await new AgentFiles(readDefinitionFile).load({
    file: path,
    source: resolve(path),
  });
  if (loaded.ok) return loaded.definition;
  if (loaded.readError !== undefined) throw loaded.readError;
  throw new InvalidDefinitionError(loaded.problems);
}

/** A definition file. */
export interface AgentFile {
  /** The name of the file in problems. */
  readonly file: string;
  /** Absolute path. */
  readonly source: string;
}

/** The result of loading a file. */
export type LoadedFile =
  | {
      readonly ok: true;
      readonly definition: AgentDefinition;
      /** Length of the longest chain of files that begins with it, itself included. */
      readonly height: number;
    }
  | {
      readonly ok: false;
      /** Problems of the file, then those of the files that it names. */
      readonly problems: readonly DefinitionProblem[];
      /** The error, if the file could not be read; `problems` is empty then. */
      readonly readError?: DefinitionFileError;
    };

/** Loads definition files and the files that they name, each once. */
class AgentFiles {
  readonly #read: (path: string) => Promise<string>;
  readonly #loaded = new Map<string, LoadedFile>();

  /** @param read returns a file's text or throws a DefinitionFileError */
  constructor(read: (path: string) => Promise<string>) {
    this.#read = read;
  }

  /** @param around the chain of files that lead to this one, outermost first */
  async load(file: AgentFile, around: readonly AgentFile[] = []): Promise<LoadedFile> {
    const loaded = this.#loaded.get(file.source) ?? (await this.#loadNew(file, around));
    this.#loaded.set(file.source, loaded);
    return loaded;
  }

  async #loadNew(file: AgentFile, around: readonly AgentFile[]): Promise<LoadedFile> {
    try {
      const text = await this.#read(file.file);
      const {
        document: written,
        checked,
        locateProblems: placed,
      } = await readDefinition(text, file.file);
      const references = agentReferences(written);
      const named = await this.#loadNamed(references, [...around, file]);
      const nameAt = (path: string) => named.agents.get(path)?.definition.spec.name;
      const own = [
        ...(checked.ok ? [] : checked.problems),
        ...named.problems,
        ...workerNameProblems(references, nameAt),
        ...(checked.ok ? inputProblems(checked.spec, named.agents) : []),
        ...insideProblems(written, references, named.agents),
      ];
      if (!checked.ok || own.length > 0) {
        return { ok: false, problems: [...placed(own), ...named.within] };
      }
      const agents = new Map([...named.agents].map(([key, { definition }]) => [key, definition]));
      const definition = buildDefinition({
        spec: checked.spec,
        clientTools: checked.clientTools,
        source: file.source,
        agents,
      });
      const heights = [...named.agents.values()].map(({ height }) => height);
      return { ok: true, definition, height: 1 + Math.max(0, ...heights) };
    } catch (thrown) {
      if (thrown instanceof InvalidDefinitionError) return { ok: false, problems: thrown.problems };
      if (thrown instanceof DefinitionFileError)
        return { ok: false, problems: [], readError: thrown };
      throw thrown;
    }
  }

  /** Loads the named files sequentially, so that cycles show up in `chain`. */
  async #loadNamed(references: readonly AgentReference[], chain: readonly AgentFile[]) {
    const agents = new Map<string, LoadedFile & { ok: true }>();
    const problems: DefinitionProblem[] = [];
    const within: DefinitionProblem[] = [];
    for (const { agent, at } of references) {
      if (!isAgentPath(agent) || agents.has(agent)) continue;
      const file = namedFile(agent, chain.at(-1));
      const refuse = (message: string) =>
        problems.push({ path: at, message, found: JSON.stringify(agent) });
      const begins = chain.findIndex(({ source }) => source === file.source);
      if (begins >= 0) {
        refuse(`agents do not contain themselves: ${listChain([...chain.slice(begins), file])}`);
        continue;
      }
      const depth = chain.length + 1;
      if (depth > maxAgentDepth) {
        refuse(`${tooDeep}: ${listChain([...chain, file])}`);
        continue;
      }
      const known = this.#loaded.has(file.source);
      const loaded = await this.load(file, chain);
      if (loaded.ok && chain.length + loaded.height > maxAgentDepth) {
        refuse(`${tooDeep}: ${listChain([...chain, file])} and ${loaded.height - 1} more`);
      } else if (loaded.ok) {
        agents.set(agent, loaded);
      } else {
        refuse(whyNot(loaded, file));
        if (!known) within.push(...loaded.problems);
      }
    }
    return { agents, problems, within };
  }
}

const tooDeep = `agents are within agents at most ${maxAgentDepth} deep`;

function namedFile(agent: string, by: AgentFile | undefined): AgentFile {
  const { file = "", source = "" } = by ?? {};
  return {
    file: isAbsolute(agent) ? agent : join(dirname(file), agent),
    source: resolve(dirname(source), agent),
  };
}

function listChain(files: readonly AgentFile[]): string {
  return files.map(({ file }) => file).join(" → ");
}

function whyNot(loaded: LoadedFile & { ok: false }, { file }: AgentFile): string {
  if (loaded.readError !== undefined) return `cannot be loaded: ${loaded.readError.problem}`;
  return `cannot be loaded: ${file} is not valid`;
}

/** Checks the tool rails, which may name tools of the nested agents, after those were loaded. */
function insideProblems(
  written: unknown,
  references: readonly AgentReference[],
  named: ReadonlyMap<string, LoadedFile & { ok: true }>,
): readonly DefinitionProblem[] {
  if (references.length === 0) return [];
  const agents = new Map([...named].map(([key, { definition }]) => [key, definition]));
  const inside = findNestedToolNames(written, { agents, workers: [] });
  return inside === undefined ? [] : railProblems(written, writtenTools(written), inside);
}

function inputProblems(
  spec: AgentDefinition["spec"],
  agents: ReadonlyMap<string, { readonly definition: AgentDefinition }>,
): readonly DefinitionProblem[] {
  return agentReferences(spec).flatMap((reference) => {
    const named = agents.get(reference.agent);
    return named === undefined ? [] : agentInputProblems(reference, spec, named.definition);
  });
}

/**
 * Reports workers of one planner node that share a name but are referred to by two paths, or by a path and a name.
 * Plans assign subtasks by name, so names must be unique.
 *
 * @param nameAt returns the name of the agent in a file, or undefined if it could not be loaded
 */
function workerNameProblems(
  references: readonly AgentReference[],
  nameAt: (path: string) => string | undefined,
): readonly DefinitionProblem[] {
  const known = new Map<DefinitionPath, Map<string, AgentReference>>();
  return references.flatMap((reference): DefinitionProblem[] => {
    const { role, agent, at, path } = reference;
    const name = isAgentPath(agent) ? nameAt(agent) : agent;
    if (role !== "worker" || name === undefined) return [];
    const ofNode = known.get(path) ?? new Map<string, AgentReference>();
    known.set(path, ofNode);
    const earlier = ofNode.get(name);
    ofNode.set(name, earlier ?? reference);
    // The node rules report repeated references.
    if (earlier === undefined || earlier.agent === agent) return [];
    const message = `"${name}" is already the name of workers[${earlier.at.at(-1)}], ${showFound(earlier.agent)}; rename one of them, or leave one out`;
    return [{ path: at, message, found: showFound(agent) }];
  });
}
