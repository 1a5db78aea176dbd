import {
  Annotation,
  END,
  Send,
  START,
  StateGraph,
  type BaseCheckpointSaver,
  type Command,
} from "@langchain/langgraph";
import { Trail, type TrailNode } from "./trail.ts";

type NodesOf<Name extends string> = Readonly<Record<Name, TrailNode>>;

/** `left`, `middle` and `right` at once, then `join`. */
export function sideBySide(
  nodes: NodesOf<"left" | "middle" | "right" | "join">,
  checkpointer: BaseCheckpointSaver,
) {
  return new StateGraph(Trail)
    .addNode({ ...nodes })
    .addEdge(START, "left")
    .addEdge(START, "middle")
    .addEdge(START, "right")
    .addEdge(["left", "middle", "right"], "join")
    .addEdge("join", END)
    .compile({ checkpointer });
}

/** `short` beside `long1` and then `long2`, and `join` after both. */
export function unequal(
  nodes: NodesOf<"short" | "long1" | "long2" | "join">,
  checkpointer: BaseCheckpointSaver,
) {
  return new StateGraph(Trail)
    .addNode({ ...nodes })
    .addEdge(START, "short")
    .addEdge(START, "long1")
    .addEdge("long1", "long2")
    .addEdge(["short", "long2"], "join")
    .addEdge("join", END)
    .compile({ checkpointer });
}

const Items = Annotation.Root({ ...Trail.spec, items: Annotation<string[]>() });

/** `plan`, then `work` once for each of the items, then `join`. */
export function fanOut(
  {
    plan,
    work,
    join,
  }: NodesOf<"plan" | "join"> & {
    work: (of: { item: string }) => ReturnType<TrailNode>;
  },
  checkpointer: BaseCheckpointSaver,
) {
  return new StateGraph(Items)
    .addNode("plan", plan)
    .addNode("work", work as never)
    .addNode("join", join)
    .addEdge(START, "plan")
    .addConditionalEdges("plan", ({ items }) => items.map((item) => new Send("work", { item })), [
      "work",
    ])
    .addEdge("work", "join")
    .addEdge("join", END)
    .compile({ checkpointer });
}

const Route = Annotation.Root({ ...Trail.spec, to: Annotation<string>() });

/** `choose` goes to `left` or to `right`. */
export function routed(
  {
    choose,
    left,
    right,
  }: NodesOf<"left" | "right"> & {
    choose: (state: typeof Route.State) => Command;
  },
  checkpointer: BaseCheckpointSaver,
) {
  return new StateGraph(Route)
    .addNode("choose", choose as never, { ends: ["left", "right"] })
    .addNode("left", left)
    .addNode("right", right)
    .addEdge(START, "choose")
    .addEdge("left", END)
    .addEdge("right", END)
    .compile({ checkpointer });
}
