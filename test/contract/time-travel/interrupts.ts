import { Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { expect, test } from "vitest";
import type { Journey, Travel } from "./journey.ts";
import { chain, newSteps, Trail, wrote } from "./trail.ts";

const answer = (resume: unknown) => new Command({ resume });

/** Questions that a node asks, one after another, and other answers to them. */
export function interrupts(travel: Travel): void {
  /** `a`, a question, `b`. */
  const asking = async () => {
    const { step, ask, took } = newSteps();
    const journey = travel((checkpointer) =>
      chain({ a: step("a"), ask: ask("ask"), b: step("b") }, { checkpointer }),
    );
    const asked = await journey.run(wrote("in"));
    expect(asked).toMatchObject({ trail: ["in", "a1"], asks: ["ask?"] });
    took();
    return { journey, asked, took };
  };
  const answered = async () => {
    const { journey, asked, took } = await asking();
    const first = await journey.run(answer("yes"));
    expect(first).toMatchObject({ trail: ["in", "a1", "ask:yes", "b1"], asks: [] });
    took();
    return { journey, asked, first, took };
  };

  test("a replay from before an answered question asks again, and takes another answer", async () => {
    const { journey, took } = await answered();

    const again = await journey.run(null, await journey.before("ask"));
    expect(again.asks).toEqual(["ask?"]);
    expect(took()).toEqual(["ask"]);

    const end = await journey.run(answer("no"));
    expect(end.trail).toEqual(["in", "a1", "ask:no", "b2"]);
    expect((await journey.history()).map(({ metadata }) => metadata?.source)).toEqual([
      "loop",
      "loop",
      "fork",
      "loop",
      "loop",
      "loop",
      "loop",
      "input",
    ]);
  });

  test("each replay from before a question asks it", async () => {
    const { journey } = await answered();
    const start = await journey.before("ask");

    for (let turn = 0; turn < 3; turn += 1)
      expect((await journey.run(null, start)).asks).toEqual(["ask?"]);
  });

  test("a replay from after an answered question keeps the answer", async () => {
    const { journey, took } = await answered();

    const replayed = await journey.run(null, await journey.before("b"));

    expect(replayed).toMatchObject({ trail: ["in", "a1", "ask:yes", "b2"], asks: [] });
    expect(took()).toEqual(["b"]);
  });

  test.each([
    { when: "before an answer", start: asking },
    { when: "after an answer", start: answered },
  ])("a fork at a question, made $when, asks again and takes its own answer", async ({ start }) => {
    const { journey, asked } = await start();

    const fork = await journey.update(wrote("fork"), asked);
    expect(await journey.run(null, fork)).toMatchObject({
      trail: ["in", "a1", "fork"],
      asks: ["ask?"],
    });
    const end = await journey.run(answer("no"), fork);

    expect(end.trail).toEqual(["in", "a1", "fork", "ask:no", expect.stringMatching(/^b\d$/u)]);
  });

  test.each([
    { how: "a copy", values: null, asNode: "__copy__" },
    { how: "an update without values", values: null, asNode: undefined },
  ])("$how of the checkpoint at a question asks again", async ({ values, asNode }) => {
    const { journey, asked } = await answered();

    const fork = await journey.update(values, asked, asNode);
    expect((await journey.run(null, fork)).asks).toEqual(["ask?"]);

    expect((await journey.run(answer("no"), fork)).trail).toEqual(["in", "a1", "ask:no", "b2"]);
  });

  test("an update as the node that asks stands for its answer", async () => {
    const { journey, asked, took } = await asking();

    const fork = await journey.update(wrote("given"), asked, "ask");

    expect(await journey.run(null, fork)).toMatchObject({
      trail: ["in", "a1", "given", "b1"],
      asks: [],
    });
    expect(took()).toEqual(["b"]);
  });

  test("a fork after an answered question keeps the answer and does not ask", async () => {
    const { journey, took } = await answered();

    const fork = await journey.update(wrote("fork"), await journey.before("b"));

    expect(await journey.run(null, fork)).toMatchObject({
      trail: ["in", "a1", "ask:yes", "fork", "b2"],
      asks: [],
    });
    expect(took()).toEqual(["b"]);
  });

  test("two forks that wait for an answer at once take each its own", async () => {
    const { journey, asked } = await asking();
    const left = await journey.update(wrote("left"), asked);
    const right = await journey.update(wrote("right"), asked);
    await journey.run(null, left);
    await journey.run(null, right);

    const rightEnd = await journey.run(answer("R"), right);
    const leftEnd = await journey.run(answer("L"), left);

    expect(leftEnd.trail).toEqual(["in", "a1", "left", "ask:L", "b2"]);
    expect(rightEnd.trail).toEqual(["in", "a1", "right", "ask:R", "b1"]);
  });

  test("a thread that waits is answered by the id of its checkpoint", async () => {
    const { journey, asked } = await asking();

    expect((await journey.run(answer("yes"), asked)).trail).toEqual(["in", "a1", "ask:yes", "b1"]);
  });

  test("a branch that waits is answered after another branch has ended", async () => {
    const { journey, asked } = await asking();
    const fork = await journey.update(wrote("fork"), asked);
    await journey.run(null, fork);
    await journey.run(answer("no"), fork);

    expect((await journey.run(answer("yes"), asked)).trail).toEqual(["in", "a1", "ask:yes", "b2"]);
  });

  test("an answer comes with an update", async () => {
    const { journey } = await asking();

    const end = await journey.run(new Command({ resume: "yes", update: wrote("noted") }));

    expect(end.trail).toEqual(["in", "a1", "noted", "ask:yes", "b1"]);
  });

  test("a fork between two questions keeps the first answer", async () => {
    const { step, ask, took } = newSteps();
    const journey = travel((checkpointer) =>
      chain({ one: ask("one"), two: ask("two"), end: step("end") }, { checkpointer }),
    );
    await journey.run(wrote("in"));
    await journey.run(answer("1"));
    expect((await journey.run(answer("2"))).trail).toEqual(["in", "one:1", "two:2", "end1"]);

    const fork = await journey.update(wrote("fork"), await journey.before("two"));
    expect((await journey.run(null, fork)).asks).toEqual(["two?"]);
    expect((await journey.run(answer("3"), fork)).trail).toEqual([
      "in",
      "one:1",
      "fork",
      "two:3",
      "end2",
    ]);

    took();
    expect((await journey.run(null, await journey.before("one"))).asks).toEqual(["one?"]);
    expect(took()).toEqual(["one"]);
    expect((await journey.run(answer("4"))).asks).toEqual(["two?"]);
    expect((await journey.run(answer("5"))).trail).toEqual(["in", "one:4", "two:5", "end3"]);
  });

  const askingTwice = () =>
    travel((checkpointer) =>
      chain(
        {
          ask: () => wrote(`${interrupt("first?")} ${interrupt("second?")}`),
          end: newSteps().step("end"),
        },
        { checkpointer },
      ),
    );
  const answerTwice = async (journey: Journey, first: string, second: string) => {
    expect((await journey.run(answer(first))).asks).toEqual(["second?"]);
    return (await journey.run(answer(second))).trail;
  };

  test("two questions of one node are asked in turn, and both again in a replay", async () => {
    const journey = askingTwice();
    expect((await journey.run(wrote("in"))).asks).toEqual(["first?"]);
    expect(await answerTwice(journey, "1", "2")).toEqual(["in", "1 2", "end1"]);

    expect((await journey.run(null, await journey.before("ask"))).asks).toEqual(["first?"]);

    expect((await answerTwice(journey, "3", "4")).slice(0, 2)).toEqual(["in", "3 4"]);
  });

  test("a fork between the two questions of one node asks both again", async () => {
    const journey = askingTwice();
    const asked = await journey.run(wrote("in"));
    expect((await journey.run(answer("1"))).asks).toEqual(["second?"]);

    await journey.update(wrote("fork"), asked);
    expect((await journey.run(null)).asks).toEqual(["first?"]);

    expect((await answerTwice(journey, "3", "4")).slice(0, 3)).toEqual(["in", "fork", "3 4"]);
  });

  test("a node that asks until it is content is replayed and forked at each of its rounds", async () => {
    const journey = travel((checkpointer) =>
      new StateGraph(Trail)
        .addNode("ask", ({ trail }) => wrote(interrupt<string, string>(`${trail.length}?`)))
        .addEdge(START, "ask")
        .addConditionalEdges("ask", ({ last }) => (last === "stop" ? END : "ask"))
        .compile({ checkpointer }),
    );
    await journey.run(wrote("in"));
    await journey.run(answer("x"));
    await journey.run(answer("y"));
    expect((await journey.run(answer("stop"))).trail).toEqual(["in", "x", "y", "stop"]);

    expect((await journey.run(null, await journey.before("ask", 1))).asks).toEqual(["2?"]);
    expect((await journey.run(answer("z"))).asks).toEqual(["3?"]);
    expect((await journey.run(answer("stop"))).trail).toEqual(["in", "x", "z", "stop"]);

    const fork = await journey.update(wrote("fork"), await journey.before("ask", 2));
    expect((await journey.run(null, fork)).asks).toEqual(["4?"]);
    expect((await journey.run(answer("stop"), fork)).trail).toEqual([
      "in",
      "x",
      "y",
      "fork",
      "stop",
    ]);
  });

  test.each([
    { how: "before", options: { interruptBefore: ["b"] } },
    { how: "after", options: { interruptAfter: ["a"] } },
  ])("a stop set $how a node is passed by each branch on its own", async ({ options }) => {
    const { step } = newSteps();
    const journey = travel((checkpointer) =>
      chain({ a: step("a"), b: step("b") }, { checkpointer, ...options }),
    );
    const stopped = await journey.run(wrote("in"));
    expect(stopped.trail).toEqual(["in", "a1"]);
    const fork = await journey.update(wrote("fork"), stopped);

    expect((await journey.run(null, stopped)).trail).toEqual(["in", "a1", "b1"]);
    expect((await journey.run(null, fork)).trail).toEqual(["in", "a1", "fork", "b2"]);
  });
}
