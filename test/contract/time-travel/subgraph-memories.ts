import { START, StateGraph } from "@langchain/langgraph";
import { expect, test } from "vitest";
import type { Travel } from "./journey.ts";
import { chain, innerChain, newSteps, Trail, wrote } from "./trail.ts";

/** Subgraphs that remember, from turn to turn, what they wrote: each branch has the memory of its own past. */
export function subgraphMemories(travel: Travel): void {
  test("a replay of a turn gives a subgraph with a memory the memory of that turn", async () => {
    const { journey, remembered } = remembering();
    for (const turn of ["one", "two", "three"]) await journey.run(wrote(turn));
    expect(remembered.splice(0)).toEqual([[], ["s1"], ["s1", "s2"]]);

    await journey.run(null, await journey.before("a", 1));
    expect(remembered.splice(0)).toEqual([["s1"]]);

    await journey.run(wrote("four"));
    expect(remembered.splice(0)).toEqual([["s1", "s4"]]);
  });

  test("a fork of a turn gives a subgraph with a memory the memory of that turn", async () => {
    const { journey, remembered } = remembering();
    for (const turn of ["one", "two", "three"]) await journey.run(wrote(turn));
    remembered.splice(0);

    const fork = await journey.update(wrote("fork"), await journey.before("a", 1));
    await journey.run(null, fork);

    expect(remembered).toEqual([["s1"]]);
  });

  test("a replay of the first turn gives a subgraph with a memory none", async () => {
    const { journey, remembered } = remembering();
    for (const turn of ["one", "two"]) await journey.run(wrote(turn));
    remembered.splice(0);

    await journey.run(null, await journey.before("sub", 0));

    expect(remembered).toEqual([[]]);
  });

  test("a replay gives subgraphs side by side the memories of that turn", async () => {
    const { step, called } = newSteps();
    const remembered: Record<string, readonly string[]> = {};
    const memory = (name: string) =>
      innerChain(
        {
          [name]: ({ trail }) => {
            remembered[name] = trail;
            return wrote(called(name));
          },
        },
        true,
      );
    const journey = travel((checkpointer) =>
      new StateGraph(Trail)
        .addNode("a", step("a"))
        .addNode("left", memory("left"))
        .addNode("right", memory("right"))
        .addEdge(START, "a")
        .addEdge("a", "left")
        .addEdge("a", "right")
        .compile({ checkpointer }),
    );
    for (const turn of ["one", "two", "three"]) await journey.run(wrote(turn));

    await journey.run(null, await journey.before("a", 1));

    expect(remembered).toEqual({ left: ["left1"], right: ["right1"] });
  });

  /** `a` and a subgraph with a memory of its own, which tells what it remembers. */
  function remembering() {
    const { step, called } = newSteps();
    const remembered: (readonly string[])[] = [];
    const journey = travel((checkpointer) =>
      chain(
        {
          a: step("a"),
          sub: innerChain(
            {
              s: ({ trail }) => {
                remembered.push(trail);
                return wrote(called("s"));
              },
            },
            true,
          ),
        },
        { checkpointer },
      ),
    );
    return { journey, remembered };
  }
}
