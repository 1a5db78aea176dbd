import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, type CompiledStateGraph } from "@langchain/langgraph";
import { expect, test } from "vitest";
import { compileAgent, defineAgent, type AgentDefinition } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import type { Outcome, Travel, TravelGraph } from "./journey.ts";

const answer = (resume: unknown) => new Command({ resume });
const go = { input: { message: "go" } };

const asking = defineAgent({
  name: "asking",
  tools: ["current_time"],
  workflow_graph: {
    entry_point: "clock",
    nodes: [
      { name: "clock", type: "tool", config: { tool: "current_time", args: {} } },
      { name: "ask", type: "human", config: { kind: "input", writes: "execution.name" } },
      { name: "allow", type: "human", config: { kind: "approval" } },
    ],
    edges: [
      { from: "clock", to: "ask" },
      { from: "ask", to: "allow" },
      { from: "allow", to: "END" },
    ],
    output: { message: "${nodes.ask.value}" },
  },
});

/** Agents, driven as the graphs they are compiled to. */
export function agents(travel: Travel): void {
  /** Its model says `reply 1`, `reply 2` and so on, whichever runtime asks. */
  const journeyOf = (agent: AgentDefinition) => {
    let replies = 0;
    const reply = () => new AIMessage(`reply ${(replies += 1)}`);
    return travel(async (checkpointer) => {
      const { runtime } = await testRuntime(
        Array.from({ length: 9 }, () => reply),
        {
          checkpointer,
        },
      );
      return returningAll((await compileAgent(agent, runtime)) as unknown as AnyGraph);
    });
  };
  const ended = ({ values }: Outcome) => [values["status"], values["output"], values["execution"]];

  test("a person's question is answered differently in a replay of an agent", async () => {
    const journey = journeyOf(asking);
    const asked = await journey.run(go);
    expect(asked.interrupts).toHaveLength(1);
    await journey.run(answer("ada"));
    const ada = await journey.run(answer("approve"));
    expect(ended(ada)).toEqual(["COMPLETED", { message: "ada" }, { name: "ada" }]);

    const again = await journey.run(null, await journey.before("ask"));
    expect(again.asks).toEqual(asked.asks);
    await journey.run(answer("bob"));
    const bob = await journey.run(answer("approve"));

    expect(ended(bob)).toEqual(["COMPLETED", { message: "bob" }, { name: "bob" }]);
    expect((await journey.run(null, ada)).values).toEqual(ada.values);
  });

  test("a fork of an agent between two questions keeps the first answer", async () => {
    const journey = journeyOf(asking);
    await journey.run(go);
    const waits = await journey.run(answer("ada"));
    await journey.run(answer("approve"));

    const fork = await journey.update(null, waits, "__copy__");
    expect((await journey.run(null, fork)).asks).toEqual(waits.asks);
    const rejected = await journey.run(answer("reject"), fork);

    expect(rejected.values["execution"]).toEqual({ name: "ada" });
    expect(rejected.values["nodes"]).not.toEqual(
      (await journey.before("ask")).values["nodes" as never],
    );
  });

  test("a conversation goes on in several ways from each of its turns", async () => {
    const journey = journeyOf(defineAgent({ name: "talker" }));
    const said = (message: string) => ({ input: { message } });
    const texts = ({ values }: Outcome) =>
      (values["messages"] as BaseMessage[]).map((message) => message.text);
    const first = await journey.run(said("1"));
    const second = await journey.run(said("2"));

    const other = await journey.run(said("3"), first);
    const another = await journey.run(said("4"), first);
    const more = await journey.run(said("5"), second);

    expect(texts(other)).toEqual(["1", "reply 1", "3", "reply 3"]);
    expect(texts(another)).toEqual(["1", "reply 1", "4", "reply 4"]);
    expect(texts(more)).toEqual(["1", "reply 1", "2", "reply 2", "5", "reply 5"]);
  });
}

type AnyGraph = CompiledStateGraph<object, object>;

/** An agent's graph returns a part of its state unless it is asked for all of it. */
function returningAll(graph: AnyGraph): TravelGraph {
  const invoke = graph.invoke.bind(graph) as TravelGraph["invoke"];
  return Object.assign(graph as unknown as TravelGraph, {
    invoke: (input: unknown, config: object) =>
      invoke(input, { ...config, outputKeys: graph.streamChannelsAsIs } as object),
  });
}
