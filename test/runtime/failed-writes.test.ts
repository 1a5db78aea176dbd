import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { CompileServices } from "../../src/compile/compile-agent.ts";
import { DatabaseUnavailableError } from "../../src/storage/errors.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";
import { WatchingSaver } from "../helpers/watching-saver.ts";

const send = defineTool({
  name: "send",
  description: "Sends a mail.",
  input_schema: z.object({}),
  handler: () => "sent",
});
const mailer = defineAgent({ name: "mailer", tools: [send] });
const script: ScriptedReply[] = [{ calls: [{ name: "send", args: {} }] }, "Done.", "Done."];
const full = Object.assign(new Error("the disk is full"), { code: "database_full" });

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});
afterEach(() => process.off("unhandledRejection", note));

/** After which a rejection that nobody handles has been told. */
async function turnOfTheLoop(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
}

describe("a run whose checkpoints cannot be written", () => {
  it.each(["async", "sync"] as const)(
    "ends with the error of the first, under %s, wherever that is",
    async (durability) => {
      let count = 0;
      {
        const saver = new WatchingSaver();
        saver.beforeWrite = () => void (count += 1);
        const { runtime } = await testRuntime(script, { checkpointer: saver });
        await executeAgent(mailer, { message: "go" }, { runtime, durability });
      }
      expect(count).toBeGreaterThan(5);
      for (let failing = 1; failing <= count; failing += 1) {
        const saver = new WatchingSaver();
        let begun = 0;
        saver.beforeWrite = () => {
          if ((begun += 1) === failing) throw full;
        };
        const { runtime } = await testRuntime(script, { checkpointer: saver });
        const run = executeAgent(mailer, { message: "go" }, { runtime, threadId: "t", durability });
        await expect(run, `write ${failing}`).rejects.toBe(full);
        await turnOfTheLoop();
        expect(unhandled).toEqual([]);
        expect(saver.written, "nothing after it").toBeLessThan(failing);
        expect(saver.watched).toEqual(["begin t", "end t"]);
        if ((await saver.getTuple({ configurable: { thread_id: "t" } })) === undefined) continue;
        const resumed = await executeAgent(mailer, null, { runtime, threadId: "t" });
        expect(resumed.status).toBe("COMPLETED");
        const { reason } = await runtime.threads.recover(mailer, { threadId: "t" });
        expect(reason).toBe("over");
      }
    },
  );

  it("continues a named turn after each write that may be its last, and then the thread", async () => {
    const steps = defineAgent({
      name: "steps",
      tools: [send],
      workflow_graph: {
        entry_point: "first",
        nodes: [{ name: "first", type: "tool", config: { tool: "send" } }],
        edges: [{ from: "first", to: "END" }],
      },
    });
    let count = Infinity;
    for (let failing = 1; failing <= count; failing += 1) {
      const saver = new WatchingSaver();
      let begun = 0;
      saver.beforeWrite = () => {
        if ((begun += 1) === failing) throw full;
      };
      const { runtime } = await testRuntime([], { checkpointer: saver });
      const options = { runtime, threadId: "t", turnId: "one", durability: "sync" } as const;
      const run = executeAgent(steps, { message: "go" }, options);
      const isWhole = await run.then(
        () => true,
        () => false,
      );
      if (isWhole) count = begun;
      saver.beforeWrite = () => undefined;
      const ended = await executeAgent(steps, { message: "go" }, options);
      expect([failing, ended.status]).toEqual([failing, "COMPLETED"]);
      const next = await executeAgent(steps, { message: "go" }, { ...options, turnId: "two" });
      expect([failing, next.status]).toEqual([failing, "COMPLETED"]);
    }
    expect(count).toBeGreaterThan(5);
  });

  it("ends with that error also where it was cancelled", async () => {
    const saver = new WatchingSaver();
    const cancel = new AbortController();
    saver.beforeWrite = () => {
      cancel.abort();
      throw full;
    };
    const { runtime } = await testRuntime(script, { checkpointer: saver });
    const options = { runtime, threadId: "t", signal: cancel.signal };
    await expect(executeAgent(mailer, { message: "go" }, options)).rejects.toBe(full);
  });

  it("is watched no longer than it lasts", async () => {
    const saver = new WatchingSaver();
    const thrown = new Error("the power is gone");
    const crash: ScriptedReply = () => {
      throw thrown;
    };
    const { runtime } = await testRuntime([crash], { checkpointer: saver });
    const run = executeAgent(mailer, { message: "go" }, { runtime, threadId: "t" });
    await expect(run).rejects.toBe(thrown);
    expect(saver.watched).toEqual(["begin t", "end t"]);
  });
});

describe("a run whose thread lock is lost", () => {
  const gone = Object.assign(new Error("the session has ended"), { code: "database_unavailable" });

  async function losing(begin: (lose: () => void, saver: WatchingSaver) => ScriptedReply[]) {
    const saver = new WatchingSaver();
    const lost = new AbortController();
    const { runtime } = await testRuntime(
      begin(() => lost.abort(gone), saver),
      { checkpointer: saver },
    );
    const services: CompileServices = {
      ...runtime,
      lockThread: async () => ({ signal: lost.signal, release: async () => undefined }),
    };
    return { saver, lost, runtime, locked: { ...runtime, ...services } };
  }

  it("ends with the lock's error, and writes nothing more", async () => {
    let before = 0;
    const { saver, locked, runtime } = await losing((lose, watching) => [
      script[0]!,
      () => {
        lose();
        before = watching.written;
        throw new Error("aborted");
      },
      "Resumed.",
    ]);
    const run = executeAgent(mailer, { message: "go" }, { runtime: locked, threadId: "t" });
    await expect(run).rejects.toBe(gone);
    expect(saver.written).toBe(before);
    await turnOfTheLoop();
    expect(unhandled).toEqual([]);
    const resumed = await executeAgent(mailer, null, { runtime, threadId: "t" });
    expect(resumed.output).toEqual({ message: "Resumed." });
  });

  it("does not begin when it is lost before", async () => {
    const { saver, lost, locked } = await losing(() => script);
    lost.abort(gone);
    const run = executeAgent(mailer, { message: "go" }, { runtime: locked, threadId: "t" });
    await expect(run).rejects.toBe(gone);
    expect(saver.written).toBe(0);
  });
});

describe("a run that an outage of the database meets", () => {
  const outage = new DatabaseUnavailableError("its sessions were cut", "57P01", undefined);
  const failing = (method: "begin" | "end") => ({
    begin: async () => {
      if (method === "begin") throw outage;
      return { state: "new" as const };
    },
    find: async () => ({ state: "new" as const }),
    end: async () => {
      if (method === "end") throw outage;
    },
    withdraw: async () => undefined,
  });

  it.each(["begin", "end"] as const)(
    "does not fail where the journal cannot %s a call, and is resumed",
    async (method) => {
      const { runtime } = await testRuntime(script);
      const within = { ...runtime, journal: failing(method) };
      const options = { runtime: within, threadId: "t" };
      await expect(executeAgent(mailer, { message: "go" }, options)).rejects.toBe(outage);
      const { status } = await executeAgent(mailer, null, { runtime, threadId: "t" });
      expect(status).toBe("COMPLETED");
    },
  );

  it("is not cancelled where it is aborted with the outage, and is resumed", async () => {
    const ending = new AbortController();
    const { runtime } = await testRuntime([
      (_request, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason as Error));
          ending.abort(outage);
        }),
      "Done.",
    ]);
    const options = { runtime, threadId: "t", signal: ending.signal };
    await expect(executeAgent(mailer, { message: "go" }, options)).rejects.toBe(outage);
    const { status, output } = await executeAgent(mailer, null, { runtime, threadId: "t" });
    expect([status, output]).toEqual(["COMPLETED", { message: "Done." }]);
  });
});
