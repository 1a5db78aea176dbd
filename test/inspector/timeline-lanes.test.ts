import { describe, expect, it } from "vitest";
import { barsInSight, marksInSight, timeScale } from "../../web/views/thread/time-scale.ts";
import { type TimelineContent, timelineOf } from "../../web/views/thread/timeline-lanes.ts";
import { callOf, entryOf, stepOf, timeAt } from "../helpers/inspector-path.ts";

const now = Date.parse(timeAt(10_000));
const namesIn = ({ lanes }: TimelineContent) =>
  lanes.map(({ name, bars }) => `${name}: ${bars.map(({ label }) => label).join(" ")}`);

describe("timelineOf", () => {
  it("has a lane for each node, more where one ran beside itself, and nested nodes below", () => {
    const inside = { namespace: "team:1", within: ["team"] };
    const content = timelineOf(
      [
        entryOf("begin", [0, 100]),
        entryOf("worker", [100, 300], { superstep: 900 }),
        entryOf("worker", [100, 200], { superstep: 900, lane: 1 }),
        entryOf("sum", [310, 350], inside),
        entryOf("team", [300, 400]),
        entryOf("begin", [400, null]),
      ],
      [],
      now,
    );
    expect(namesIn(content)).toEqual([
      "begin: begin begin",
      "worker: worker",
      ": worker",
      "team: team",
      "team › sum: sum",
    ]);
    expect(content.lanes[0]?.bars[1]).toMatchObject({ tone: "live", to: now });
  });

  it("shows subtasks of a planner as one bar each, in as many lanes as ran at once", () => {
    const subtask = (id: string) => ({
      namespace: `team:1|execute:2|${id}:3`,
      within: ["team", "execute", id],
    });
    const content = timelineOf(
      [
        entryOf("initialize", [0, 10], subtask("a")),
        entryOf("initialize", [5, 15], subtask("b")),
        entryOf("sum", [10, 50], subtask("a")),
        entryOf("sum", [60, 90], { ...subtask("c"), outcome: "failure" }),
      ],
      [],
      now,
    );
    expect(namesIn(content)).toEqual(["team › subtasks: a c", ": b"]);
    expect(content.lanes[0]?.bars.map(({ tone }) => tone)).toEqual(["good", "bad"]);
  });

  it("puts requests to models where they were made, and their calls where they ran", () => {
    const step = stepOf(0, "reason", {
      started_at: timeAt(20),
      model_ms: 50,
      tool_ms: 60,
      calls: [callOf("fast", "success", 20), callOf("slow", "error", 60)],
    });
    const { lanes } = timelineOf(
      [entryOf("reason", [0, 100]), entryOf("tools", [120, 200])],
      [step],
      now,
    );
    const [reason, tools] = lanes.map(({ bars }) => bars[0]!);
    expect(reason?.parts.map(({ kind, from, to }) => [kind, to - from])).toEqual([["model", 50]]);
    expect(reason?.tone).toBe("idle");
    expect(tools).toMatchObject({ tone: "bad", step: "0.0" });
    // They ran at once: both begin with the node.
    expect(tools?.parts.map(({ label, from, row, rows }) => [label, from, row, rows])).toEqual([
      ["fast", Date.parse(timeAt(120)), 0, 2],
      ["slow", Date.parse(timeAt(120)), 1, 2],
    ]);
  });

  it("has a section for each attempt, and says which failed", () => {
    const { sections } = timelineOf(
      [
        entryOf("reason", [0, 100]),
        entryOf("reason", [100, 200], { attempt: 1 }),
        entryOf("reason", [500, 600], { turn: 1 }),
      ],
      [],
      now,
    );
    expect(sections.map(({ label, hasFailed }) => [label, hasFailed])).toEqual([
      ["Turn 0, attempt 0, failed", true],
      ["Turn 0, attempt 1", false],
      ["Turn 1", false],
    ]);
  });
});

describe("timeScale", () => {
  const hour = 3_600_000;
  const waiting = timelineOf(
    [
      entryOf("reason", [0, 1_000]),
      entryOf("human", [1_000, hour], { was_interrupted: true }),
      entryOf("reason", [hour, hour + 1_000]),
    ],
    [],
    now,
  ).lanes;

  it("shortens the time in which people were waited for", () => {
    const scale = timeScale(waiting, true);
    expect(scale.idleMs).toBe(hour - 1_000);
    expect(scale.gaps).toHaveLength(1);
    expect(scale.at(scale.from + 1_000)).toBeGreaterThan(0.45);
    expect(scale.at(scale.from + hour)).toBeLessThan(0.55);
  });

  it("shows it whole if that is wished, and goes back from places to times", () => {
    const scale = timeScale(waiting, false);
    expect(scale.gaps).toEqual([]);
    expect(scale.at(scale.from + 1_000)).toBeLessThan(0.001);
    for (const isShortened of [true, false]) {
      const either = timeScale(waiting, isShortened);
      for (const ms of [0, 500, 1_000, hour / 2, hour + 500])
        expect(either.timeAt(either.at(either.from + ms))).toBeCloseTo(either.from + ms, -1);
    }
  });
});

describe("barsInSight", () => {
  const path = Array.from({ length: 10_000 }, (_, index) =>
    entryOf("reason", [index * 10, index * 10 + 10]),
  );
  const { lanes } = timelineOf(path, [], now);
  const scale = timeScale(lanes, true);

  it("draws bars that are too close to be told apart as few", () => {
    const drawn = barsInSight(lanes[0]!, { scale, width: 1_000, from: 0, to: 1_000 });
    expect(drawn.length).toBeLessThan(400);
    expect(drawn.flatMap(({ bars }) => bars)).toHaveLength(10_000);
  });

  it("draws only what is between two places", () => {
    const drawn = barsInSight(lanes[0]!, { scale, width: 200_000, from: 1_000, to: 2_000 });
    expect(drawn.every(({ bars }) => bars.length === 1)).toBe(true);
    expect(drawn.length).toBeGreaterThan(49);
    expect(drawn.length).toBeLessThan(55);
  });
});

describe("marksInSight", () => {
  const scaleOf = (ms: number) =>
    timeScale(timelineOf([entryOf("run", [0, ms])], [], now).lanes, true);
  const marksOf = (ms: number, width = 800) =>
    marksInSight({ scale: scaleOf(ms), width, from: 0, to: width }).map((mark) => mark.ms);

  it("are round numbers, as far apart as the axis allows", () => {
    expect(marksOf(864)).toEqual([0, 200, 400, 600, 800]);
    expect(marksOf(70_000)).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000]);
    expect(marksOf(3_600_000, 500)).toEqual([0, 900_000, 1_800_000, 2_700_000, 3_600_000]);
  });

  it("are in the part that is seen, where the times are", () => {
    const marks = marksInSight({ scale: scaleOf(1_000_000), width: 1e6, from: 5e5, to: 5e5 + 400 });
    expect(marks.map(({ ms }) => ms)).toEqual([500_000, 500_200, 500_400]);
    for (const { ms, left } of marks) expect(left).toBeCloseTo(ms);
  });
});
