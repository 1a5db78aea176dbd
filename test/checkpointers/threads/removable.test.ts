import { describe, expect, it } from "vitest";
import {
  removableCheckpoints,
  turnEnds,
  type HistoryEntry,
  type Retention,
} from "../../../checkpointers/threads/removable.ts";
import { isTerminal, statuses } from "../../../src/state/lifecycle.ts";

const entry = (id: string, parentId: string | null, rest: Partial<HistoryEntry> = {}) => ({
  namespace: "",
  id,
  parentId,
  createdAt: null,
  rootId: null,
  source: "loop",
  status: null,
  deltaChannels: [],
  ...rest,
});
const under = (rootId: string, namespace: string) => ({ namespace, rootId });
const input = { source: "input" };
const delta = (...deltaChannels: string[]) => ({ deltaChannels });

const kept = (history: HistoryEntry[], retention: Retention) => {
  const gone = new Set(removableCheckpoints(history, retention));
  return history.filter((one) => !gone.has(one)).map(({ id }) => id);
};

describe("latest", () => {
  const latest = { keep: "latest" } as const;

  it("keeps the newest checkpoint, whatever branch it is on", () => {
    const history = [entry("1", null), entry("2", "1"), entry("3", "2"), entry("4", "1")];
    expect(kept(history, latest)).toEqual(["4"]);
    expect(kept([], latest)).toEqual([]);
  });

  it("keeps the newest that a subgraph, and one inside it, made under the newest", () => {
    const history = [
      entry("1", null),
      entry("11", null, under("1", "sub:a")),
      entry("2", "1"),
      entry("21", null, under("2", "sub:b")),
      entry("22", "21", under("2", "sub:b")),
      entry("23", null, under("2", "sub:b|deep:c")),
    ];
    expect(kept(history, latest)).toEqual(["2", "22", "23"]);
  });

  it("keeps the newest of a subgraph that remembers, though it ran turns ago", () => {
    const history = [
      entry("1", null),
      entry("11", null, under("1", "memory")),
      entry("12", "11", under("1", "memory")),
      entry("2", "1"),
      entry("3", "2"),
    ];
    expect(kept(history, latest)).toEqual(["12", "3"]);
  });

  it("keeps what a subgraph made under a checkpoint that has yet to arrive", () => {
    const history = [
      entry("1", null),
      entry("2", "1"),
      entry("31", null, under("3", "sub:a")),
      entry("32", "31", under("3", "sub:a")),
    ];
    expect(kept(history, latest)).toEqual(["2", "31", "32"]);
    expect(kept(history.slice(2), latest)).toEqual(["31", "32"]);
  });

  it("treats namespaces that do not say where they belong like threads of their own", () => {
    const history = [
      entry("1", null, { namespace: "other" }),
      entry("2", null),
      entry("3", "1", { namespace: "other" }),
    ];
    expect(kept(history, latest)).toEqual(["2", "3"]);
  });

  it("keeps ancestors from whose writes a delta channel is put together, up to one that holds it", () => {
    const history = [
      entry("1", null, delta("lines")),
      entry("2", "1"),
      entry("3", "2", delta("lines")),
      entry("4", "3", delta("lines")),
      entry("5", "3", delta("lines")),
    ];
    expect(kept(history, latest)).toEqual(["2", "3", "5"]);
  });

  it("follows each delta channel by itself", () => {
    const history = [
      entry("1", null, delta("lines", "notes")),
      entry("2", "1", delta("notes")),
      entry("3", "2", delta("lines")),
      entry("4", "3", delta("lines", "notes")),
    ];
    expect(kept(history, latest)).toEqual(["2", "3", "4"]);
  });

  it("takes updates by hand to lean on their parents where there are delta channels", () => {
    const edited = (...first: string[]) => [
      entry("1", null, delta(...first)),
      entry("2", "1"),
      entry("3", "2", { source: "update" }),
    ];
    expect(kept(edited("lines"), latest)).toEqual(["2", "3"]);
    expect(kept(edited(), latest)).toEqual(["3"]);
  });

  it("ends at parents that were removed before, and at circles", () => {
    const history = [
      entry("2", "1", delta("lines")),
      entry("3", "4", delta("lines")),
      entry("4", "3", delta("lines")),
      entry("5", "2", delta("lines")),
    ];
    expect(kept(history, latest)).toEqual(["2", "5"]);
    expect(kept(history.slice(0, 3), latest)).toEqual(["3", "4"]);
  });
});

describe("turn_ends", () => {
  const turns = { keep: "turn_ends" } as const;

  it("keeps where the status says that a turn ended", () => {
    const history = [
      entry("1", null, { ...input, status: "CREATED" }),
      entry("2", "1", { status: "EXECUTING" }),
      entry("3", "2", { status: "COMPLETED" }),
      entry("4", "3", { ...input, status: "COMPLETED" }),
      entry("5", "4", { status: "FAILED" }),
      entry("6", "5", { status: "EXECUTING" }),
      entry("7", "6", { status: "CANCELLED" }),
      entry("8", "7", { status: "EXECUTING" }),
    ];
    expect(kept(history, turns)).toEqual(["3", "5", "7", "8"]);
  });

  it("takes the last of several that say so, and none that still show the status of the turn before", () => {
    const completed = { status: "COMPLETED" };
    const history = [
      entry("1", null, input),
      entry("2", "1", completed),
      entry("3", "2", completed),
      entry("4", "3", { ...input, ...completed }),
      entry("5", "4", completed),
      entry("6", "5", { status: "PLANNING" }),
      entry("7", "6", { status: "CANCELLED" }),
      entry("8", "7", { status: "EXECUTING" }),
      entry("9", "8", { status: "EXECUTING" }),
    ];
    expect(kept(history, turns)).toEqual(["3", "7", "9"]);
  });

  it("keeps where the next input came in, and the ends of branches, without a status", () => {
    const history = [
      entry("1", null, input),
      entry("2", "1"),
      entry("3", "2"),
      entry("4", "3", input),
      entry("5", "4"),
      entry("6", "2", { source: "update" }),
      entry("7", "5"),
    ];
    expect(kept(history, turns)).toEqual(["3", "6", "7"]);
  });

  it("keeps what a subgraph that remembers knew before each, for replays", () => {
    const history = [
      entry("1", null, input),
      entry("11", null, under("1", "memory")),
      entry("12", null, under("1", "memory")),
      entry("2", "1"),
      entry("3", "2", input),
      entry("31", null, under("3", "memory")),
      entry("32", null, under("3", "memory")),
      entry("4", "3"),
    ];
    expect(kept(history, turns)).toEqual(["12", "2", "32", "4"]);
  });

  it("knows the statuses in which turns end", () => {
    expect(
      statuses.filter((status) => isTerminal(status) || status === "COMPLETED").toSorted(),
    ).toEqual([...turnEnds].toSorted());
  });
});

describe("olderThan", () => {
  const time = (second: number) => new Date(Date.UTC(2025, 0, 1, 0, 0, second));
  const at = (second: number) => ({ createdAt: time(second).toISOString() });

  it("keeps checkpoints made at that time or later, and what they need", () => {
    const history = [
      entry("1", null, { ...at(1), ...delta("lines") }),
      entry("2", "1", at(2)),
      entry("3", "2", { ...at(3), ...delta("lines") }),
      entry("4", "3", { ...at(4), ...delta("lines") }),
      entry("5", "4", at(5)),
    ];
    expect(kept(history, { keep: "latest", olderThan: time(4) })).toEqual(["2", "3", "4", "5"]);
    expect(kept(history, { keep: "latest", olderThan: time(6) })).toEqual(["5"]);
    expect(kept(history, { keep: "latest", olderThan: time(0) })).toHaveLength(5);
  });

  it("keeps checkpoints of which nothing tells when they were made", () => {
    const history = [entry("1", null), entry("2", "1", at(1)), entry("3", "2", at(2))];
    expect(kept(history, { keep: "latest", olderThan: time(9) })).toEqual(["1", "3"]);
  });
});
