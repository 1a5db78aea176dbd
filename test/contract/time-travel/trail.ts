import { setImmediate } from "node:timers/promises";
import type { Runnable } from "@langchain/core/runnables";
import {
  Annotation,
  END,
  interrupt,
  START,
  StateGraph,
  type BaseCheckpointSaver,
  type LangGraphRunnableConfig,
  type RetryPolicy,
} from "@langchain/langgraph";

export interface Line {
  readonly text: string;
  readonly about: string;
}

function list<Item>() {
  return Annotation<Item[]>({ reducer: (all, added) => all.concat(added), default: () => [] });
}

/** What the nodes of a graph wrote, in a list, in a list of large elements, by key, and the last of it alone. */
export const Trail = Annotation.Root({
  trail: list<string>(),
  lines: list<Line>(),
  pages: Annotation<Record<string, string>>({
    reducer: (pages, added) => ({ ...pages, ...added }),
    default: () => ({}),
  }),
  last: Annotation<string>(),
});

export type TrailNode = (
  state: typeof Trail.State,
  config: LangGraphRunnableConfig,
) => Partial<typeof Trail.State> | Promise<Partial<typeof Trail.State>>;

/** The update of a node that runs beside others: all but the channel that takes one value a step. */
export function wroteBeside(...texts: string[]) {
  return {
    trail: texts,
    lines: texts.map((text) => ({ text, about: text.padEnd(200, ".") })),
    pages: Object.fromEntries(texts.map((text) => [text, text.padEnd(200, ".")])),
  };
}

export function wrote(...texts: string[]) {
  return { ...wroteBeside(...texts), last: texts.at(-1)! };
}

/** A node that fails, or runs, after those beside it have finished: LangGraph stops those that have not. */
export function afterOthers(node: () => Partial<typeof Trail.State>): TrailNode {
  return async () => {
    await setImmediate();
    return node();
  };
}

/** Nodes that say when they run. A step writes its name and how often it has run, so that no two runs write the same. */
export function newSteps() {
  let calls: string[] = [];
  const runs = new Map<string, number>();
  const called = (name: string): string => {
    calls.push(name);
    runs.set(name, (runs.get(name) ?? 0) + 1);
    return `${name}${runs.get(name)}`;
  };
  return {
    called,
    step: (name: string) => () => wrote(called(name)),
    beside: (name: string) => () => wroteBeside(called(name)),
    /** Asks a question and writes the answer. */
    ask: (name: string) => () => {
      called(name);
      return wroteBeside(`${name}:${interrupt<string, string>(`${name}?`)}`);
    },
    /** What ran since this was last asked. */
    took: (): string[] => {
      const taken = calls;
      calls = [];
      return taken;
    },
  };
}

interface ChainOptions {
  readonly checkpointer?: BaseCheckpointSaver | boolean;
  readonly interruptBefore?: string[];
  readonly interruptAfter?: string[];
  /** Of every node. */
  readonly retry?: RetryPolicy;
}

/** What a graph inside of another takes from it and gives it: nothing it would get back twice. */
const taken = Annotation.Root({ last: Trail.spec.last });
const given = Annotation.Root({ trail: Trail.spec.trail, lines: Trail.spec.lines });

/** A graph that runs nodes one after another. A node may be a graph. */
export function chain(nodes: Nodes, { retry, ...options }: ChainOptions = {}) {
  const graph = new StateGraph(Trail).addNode(
    Object.entries(nodes as Record<string, TrailNode>).map(
      ([name, node]) => [name, node, { retryPolicy: retry }] as const,
    ) as [string, TrailNode, { retryPolicy: RetryPolicy }][],
  );
  return inChain(graph, nodes).compile(options);
}

/** A chain to be a node of another: it begins with a trail of its own, and gives it to the other in the end. */
export function innerChain(nodes: Nodes, checkpointer?: true) {
  const graph = new StateGraph({ stateSchema: Trail, input: taken, output: given }).addNode(
    nodes as Record<string, TrailNode>,
  );
  return inChain(graph, nodes).compile({ checkpointer });
}

type Nodes = Record<string, TrailNode | Runnable>;

function inChain<Graph extends { addEdge(from: string, to: string): unknown }>(
  graph: Graph,
  nodes: Nodes,
): Graph {
  const names = [START, ...Object.keys(nodes), END];
  for (const [index, name] of names.slice(1).entries()) graph.addEdge(names[index]!, name);
  return graph;
}
