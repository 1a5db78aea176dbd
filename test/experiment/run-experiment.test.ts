import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { compileExperiment } from "../../src/app.ts";
import { checkLog } from "../../src/experiment/log/log-checker.ts";
import { type RunMemory, watchedMemory } from "../../src/experiment/memory/run-memory.ts";
import type { ModelSource } from "../../src/models/agent-model.ts";
import { ModelCallError } from "../../src/models/errors.ts";
import { collect } from "../helpers/collect.ts";
import { experimentRuntime, withoutTimes } from "../helpers/experiment-run.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const write = (key: string, value: string) => ({ name: "memory_write", args: { key, value } });

/** One cycle that writes, answers and reflects. */
const cycle = (key: string): readonly ScriptedReply[] => [
  { text: "I write.", calls: [write(key, `value of ${key}`)] },
  "Done.",
  `I wrote ${key}.`,
];

describe("a cycle", () => {
  it("goes on from an edit of any of its states as it did", async () => {
    const { runtime, run, logFolder } = await experimentRuntime(cycle("sea"));
    await run({ cycle_count: 1 });
    const graph = await compileExperiment(runtime, { logFolder });
    const thread = { configurable: { thread_id: "experiment:drift" } };
    const history = await collect(graph.getStateHistory(thread));
    const nexts: string[] = [];
    for (const { config, next, metadata } of history.toReversed()) {
      if ((metadata?.step ?? -1) < 1) continue;
      const edited = await graph.updateState(config, { reflection_history: ["edited"] });
      expect((await graph.getState(edited)).next).toEqual(next);
      nexts.push(next.join());
    }
    expect(nexts).toEqual(["start_cycle", "think", "act", "think", "reflect", "end_cycle", ""]);
  });

  it("begins, thinks, acts, reflects and ends, all of it in the log", async () => {
    const { run, log, logFolder } = await experimentRuntime(cycle("sky"));
    const { runs } = await run({ cycle_count: 1, model_options: { seed: 7 } });
    expect(runs).toMatchObject([{ run_id: "drift", status: "done", cycles_done: 1 }]);
    const system = "You are a test.\n\nKeys in your memory: none.";
    const begun = [
      { role: "system", content: system },
      { role: "user", content: "Cycle 1 of 1." },
    ];
    const asked = {
      role: "assistant",
      content: "I write.",
      tool_calls: [
        { id: "call_1_1_1", name: "memory_write", args: { key: "sky", value: "value of sky" } },
      ],
    };
    const gave = {
      role: "tool",
      tool_call_id: "call_1_1_1",
      content: '{"key":"sky","replaced":false}',
    };
    const model_options = { seed: 7 };
    const usage = {
      tokens_in: expect.any(Number),
      tokens_out: expect.any(Number),
      cached_tokens: 0,
      reasoning_tokens: 0,
      cost_usd: expect.any(Number),
    };
    const ended = { usage, finish_reason: "stop" };
    expect(withoutTimes(log("drift"))).toEqual(
      [
        {
          event_type: "CYCLE_START",
          payload: {
            model_name: "test:scripted",
            seed: 7,
            prompt_name: null,
            config_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
            memory_keys: [],
          },
        },
        {
          event_type: "LLM_INVOCATION",
          payload: { prompt_messages: begun, response_message: asked, model_options, ...ended },
        },
        {
          event_type: "TOOL_CALL",
          payload: {
            tool_name: "memory_write",
            parameters: { key: "sky", value: "value of sky" },
            output: { key: "sky", replaced: false },
          },
        },
        {
          event_type: "LLM_INVOCATION",
          payload: {
            prompt_messages: [...begun, asked, gave],
            response_message: { role: "assistant", content: "Done." },
            model_options,
            ...ended,
          },
        },
        {
          event_type: "LLM_INVOCATION",
          payload: {
            prompt_messages: [
              ...begun,
              { role: "assistant", content: "I write." },
              {
                role: "user",
                content:
                  'What the tools gave:\n- memory_write({"key":"sky","value":"value of sky"}): {"key":"sky","replaced":false}',
              },
              { role: "assistant", content: "Done." },
              { role: "user", content: "Reflect." },
            ],
            response_message: { role: "assistant", content: "I wrote sky." },
            model_options,
            ...ended,
          },
        },
        {
          event_type: "CYCLE_END",
          payload: {
            final_reflection: "I wrote sky.",
            metrics: {
              memory_ops_total: 1,
              messages_to_operator: 0,
              response_chars: 25,
              memory_write_chars: 12,
            },
          },
        },
      ].map((entry) => ({ run_id: "drift", cycle_number: 1, ...entry })),
    );
    expect(await checkLog(join(logFolder, "drift.jsonl"))).toMatchObject({ problems: [] });
  });

  it("is told the keys in memory and the newest reflections, and nothing else of earlier ones", async () => {
    const script = ["a", "b", "c"].flatMap((key) => cycle(key));
    const { run, model } = await experimentRuntime([...script, "Nothing.", "Nothing to do."]);
    await run({ cycle_count: 4, reflections_shown: 2 });
    expect(model.read(9)).toEqual([
      "system: You are a test.\n\n" +
        'Keys in your memory:\n- "a"\n- "b"\n- "c"\n\n' +
        "Your reflections on earlier cycles:\nCycle 2: I wrote b.\nCycle 3: I wrote c.",
      "human: Cycle 4 of 4.",
    ]);
  });

  it("ends with a reflection after max_iterations, whatever the agent wants", async () => {
    const greedy: ScriptedReply = { calls: [write("k", "v")] };
    const { run, log } = await experimentRuntime([greedy, greedy, "Enough."]);
    await run({ cycle_count: 1, max_iterations: 2 });
    expect(log("drift").map(({ event_type: type }) => type)).toEqual([
      "CYCLE_START",
      "LLM_INVOCATION",
      "TOOL_CALL",
      "LLM_INVOCATION",
      "TOOL_CALL",
      "LLM_INVOCATION",
      "CYCLE_END",
    ]);
  });

  it("makes calls that come together one after the other", async () => {
    const calls = [write("k", "1"), { name: "memory_read", args: { key: "k" } }, write("k", "2")];
    const { run, log, runtime } = await experimentRuntime([{ calls }, "Done.", "R"]);
    await run({ cycle_count: 1 });
    const outputs = log("drift").flatMap((entry) =>
      entry.event_type === "TOOL_CALL" ? [entry.payload.output] : [],
    );
    expect(outputs).toEqual([
      { key: "k", replaced: false },
      { key: "k", value: "1" },
      { key: "k", replaced: true },
    ]);
    expect(await runtime.experimentMemory.of("drift").read("k")).toBe("2");
  });

  it("tells the operator what the agent sends, and tells the model what went wrong", async () => {
    const { run, log, events, model } = await experimentRuntime([
      {
        calls: [
          { name: "message_operator", args: { message: "Help!" } },
          { name: "memory_wipe", args: {} },
          { name: "memory_write", args: { key: "" } },
        ],
      },
      "Done.",
      "R",
    ]);
    await run({ cycle_count: 1 });
    expect(events.filter(({ type }) => type === "message")).toEqual([
      { type: "message", run_id: "drift", cycle_number: 1, text: "Help!" },
    ]);
    const outputs = log("drift").flatMap((entry) =>
      entry.event_type === "TOOL_CALL" ? [entry.payload.output] : [],
    );
    expect(outputs).toEqual([
      { delivered: true },
      { error: expect.stringContaining('There is no tool "memory_wipe". Did you mean "memory_w') },
      { error: expect.stringContaining("key") },
    ]);
    expect(model.read(1).slice(3)).toEqual([
      'tool: {"delivered":true}',
      expect.stringMatching(/^tool: error: There is no tool/),
      expect.stringMatching(/^tool: error: /),
    ]);
    expect(log("drift").at(-1)?.payload).toMatchObject({
      metrics: { memory_ops_total: 0, messages_to_operator: 1, memory_write_chars: 0 },
    });
  });
});

describe("a model without tool calling", () => {
  it("calls tools in text", async () => {
    const { run, log, model } = await experimentRuntime(
      [
        'Thought: I write\nAction: memory_write\nAction Input: {"key": "k", "value": "v"}',
        "Mumble.",
        "Final Answer: done",
        "I wrote.",
      ],
      { toolCalling: false },
    );
    await run({ cycle_count: 1 });
    expect(model.requests.map(({ tools }) => tools)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(model.read(0)[0]).toContain("- memory_write: ");
    expect(model.read(1).slice(2)).toEqual([
      'ai: Thought: I write\nAction: memory_write\nAction Input: {"key":"k","value":"v"}',
      'human: Observation: {"key":"k","replaced":false}',
    ]);
    expect(model.read(2).at(-1)).toContain("neither an action nor a final answer");
    expect(log("drift").at(-1)?.payload).toMatchObject({ final_reflection: "I wrote." });
  });

  it("has its inputs read by the schemas of the experiment's own tools", async () => {
    const { run, log } = await experimentRuntime(
      [
        'Action: Memory_Write\nAction Input: key="k", value="v"',
        "Action: memory_read\nAction Input: k",
        "Final Answer: done",
        "I read.",
      ],
      { toolCalling: false },
    );
    await run({ cycle_count: 1 });
    expect(
      log("drift").flatMap(({ event_type, payload }) =>
        event_type === "TOOL_CALL" ? [[payload.tool_name, payload.parameters]] : [],
      ),
    ).toEqual([
      ["memory_write", { key: "k", value: "v" }],
      ["memory_read", { key: "k" }],
    ]);
  });

  it("is asked in text from the moment that its server says so", async () => {
    const refuses: ScriptedReply = () => {
      throw new ModelCallError({
        message: "test:scripted does not support tools",
        ref: "test:scripted",
        reason: "bad_request",
        status: 400,
        lacksTools: true,
      });
    };
    const { run, log, model } = await experimentRuntime([
      refuses,
      'Action: memory_write\nAction Input: {"key": "k", "value": "v"}',
      "Final Answer: done",
      "I wrote.",
    ]);
    await run({ cycle_count: 1 });
    expect(model.requests.map(({ tools }) => tools !== undefined)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(log("drift")).toHaveLength(6);
  });
});

describe("a run", () => {
  const whole = async () => {
    const made = await experimentRuntime(["a", "b", "c"].flatMap((key) => cycle(key)));
    await made.run({ cycle_count: 3 });
    return withoutTimes(made.log("drift"));
  };

  it("goes on after it was stopped as if it had not been", async () => {
    for (const stopAt of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
      const stop = new AbortController();
      const replies = ["a", "b", "c"].flatMap((key) => cycle(key));
      const stopping: ScriptedReply = () => {
        stop.abort(new Error("Ctrl-C"));
        throw stop.signal.reason;
      };
      const script = [...replies.slice(0, stopAt), stopping, ...replies.slice(stopAt)];
      const { run, log } = await experimentRuntime(script);
      const first = await run({ cycle_count: 3 }, { signal: stop.signal });
      expect(first.runs).toMatchObject([
        { status: "stopped", cycles_done: Math.floor(stopAt / 3) },
      ]);
      const second = await run({ cycle_count: 3 });
      expect(second.runs).toMatchObject([
        {
          status: "done",
          cycles_done: 3,
          cycles_before: Math.floor(stopAt / 3),
          usage: { llm_calls: 9 },
        },
      ]);
      expect(withoutTimes(log("drift"))).toEqual(await whole());
    }
  });

  it("has nothing more to do once it has ended", async () => {
    const { run, log, model } = await experimentRuntime([...cycle("a"), ...cycle("b")]);
    await run();
    const before = log("drift");
    expect((await run()).runs).toMatchObject([
      { status: "done", cycles_done: 2, cycles_before: 2 },
    ]);
    expect(log("drift")).toEqual(before);
    expect(model.requests).toHaveLength(6);
  });

  it("is not gone on with under another config", async () => {
    const { run, log } = await experimentRuntime([...cycle("a"), ...cycle("b")]);
    await run();
    const before = log("drift");
    await expect(run({ system_prompt: "You are another." })).rejects.toMatchObject({
      code: "experiment_changed",
      changes: [{ key: "system_prompt", before: "You are a test.", now: "You are another." }],
    });
    await expect(run({ cycle_count: 3 })).rejects.toThrow(
      'Run "drift" was begun with another config: cycle_count (2 → 3). Go on to the new number of cycles with --extend, or begin again with --fresh.',
    );
    await expect(run({ cycle_count: 1 }, { extend: true })).rejects.toThrow("--fresh");
    expect(log("drift")).toEqual(before);
  });

  it("is gone on with where only the server of its model has moved", async () => {
    const config = { model_name: "ollama:test", cycle_count: 2 } as const;
    const { run } = await experimentRuntime([...cycle("a"), ...cycle("b")]);
    await run({ ...config, ollama_client_config: { host: "one:1" } });
    const after = await run({ ...config, ollama_client_config: { host: "two:2", timeout_ms: 5 } });
    expect(after.runs).toMatchObject([{ status: "done" }]);
  });

  it("goes on to more cycles when that is asked for", async () => {
    const { run, log } = await experimentRuntime(["a", "b", "c"].flatMap((key) => cycle(key)));
    await run({ cycle_count: 2 });
    const { runs } = await run({ cycle_count: 3 }, { extend: true });
    expect(runs).toMatchObject([{ status: "done", cycles_done: 3, cycles_before: 2 }]);
    expect(log("drift").filter(({ event_type: type }) => type === "CYCLE_END")).toHaveLength(3);
    await expect(run({ cycle_count: 4 })).rejects.toThrow("cycle_count (3 → 4)");
  });

  it("reaches its model in the same way in the cycles that were added", async () => {
    const failing: ScriptedReply = () => {
      throw new Error("boom");
    };
    const { run, runtime, model } = await experimentRuntime([
      failing,
      ...cycle("a"),
      ...cycle("b"),
    ]);
    const hosts: unknown[] = [];
    Object.assign(runtime, {
      models: {
        resolve(wanted: Parameters<ModelSource["resolve"]>[0]) {
          hosts.push(wanted.ollama_client_config?.host);
          return model.resolve();
        },
      },
    });
    const config = {
      model_name: "ollama:test",
      cycle_count: 1,
      ollama_client_config: { host: "one:1" },
    };
    await run(config);
    const { runs } = await run({ ...config, cycle_count: 2 }, { extend: true });
    expect(runs).toMatchObject([{ status: "done", cycles_done: 2 }]);
    expect(new Set(hosts)).toEqual(new Set(["one:1"]));
  });

  it("begins again with nothing of what was, when that is asked for", async () => {
    const { run, log, runtime } = await experimentRuntime([...cycle("old"), ...cycle("new")]);
    await run({ cycle_count: 1 });
    await run({ cycle_count: 1, system_prompt: "You are another." }, { fresh: true });
    expect(log("drift").map(({ payload }) => payload)).toContainEqual(
      expect.objectContaining({ final_reflection: "I wrote new." }),
    );
    expect(log("drift")).toHaveLength(6);
    expect(await runtime.experimentMemory.of("drift").list()).toEqual(["new"]);
  });

  it("does not write over a log that it knows nothing of", async () => {
    const { run, logFolder, model } = await experimentRuntime([]);
    mkdirSync(logFolder, { recursive: true });
    writeFileSync(join(logFolder, "drift.jsonl"), "precious\n");
    await expect(run()).rejects.toMatchObject({ code: "experiment_log_exists" });
    expect(model.requests).toEqual([]);
  });

  it("takes away what was written to its log after its last checkpoint", async () => {
    const failing: ScriptedReply = () => {
      throw new Error("boom");
    };
    const replies = [...cycle("a"), ...cycle("b")];
    const script = [...replies.slice(0, 4), failing, ...replies.slice(4)];
    const { run, log, logFolder } = await experimentRuntime(script);
    expect((await run()).runs).toMatchObject([
      { status: "failed", failure: "boom", cycles_done: 1 },
    ]);
    appendFileSync(join(logFolder, "drift.jsonl"), '{"half":');
    await run();
    const { run: other, log: otherLog } = await experimentRuntime(replies);
    await other();
    expect(withoutTimes(log("drift"))).toEqual(withoutTimes(otherLog("drift")));
  });

  it("ends where its memory cannot be reached, and goes on when it can", async () => {
    const { run, log, runtime } = await experimentRuntime([...cycle("a")]);
    const memory = runtime.experimentMemory;
    const of = memory.of.bind(memory);
    let isDown = true;
    Object.assign(runtime.experimentMemory, {
      of: (runId: string): RunMemory => ({
        ...watchedMemory(of(runId)).memory,
        write: (key, value, change) =>
          isDown
            ? Promise.reject(new Error("The database is gone."))
            : of(runId).write(key, value, change),
      }),
    });
    expect((await run({ cycle_count: 1 })).runs).toMatchObject([
      { status: "failed", failure: "The database is gone." },
    ]);
    isDown = false;
    expect((await run({ cycle_count: 1 })).runs).toMatchObject([{ status: "done" }]);
    expect(log("drift")).toHaveLength(6);
  });

  it("waits out a model that cannot be reached", async () => {
    const down: ScriptedReply = () => {
      throw new ModelCallError({
        message: "The model is out of reach.",
        ref: "test:scripted",
        reason: "outage",
        status: 503,
      });
    };
    const script = [down, down, ...cycle("a").slice(0, 2), down, "I wrote a."];
    const { run, log, events } = await experimentRuntime(script);
    const retries = { maxAttempts: 3, initialInterval: 1, jitter: false };
    const { runs } = await run({ cycle_count: 1 }, { retries });
    expect(runs).toMatchObject([{ status: "done" }]);
    expect(log("drift")).toHaveLength(6);
    const doing = events.flatMap((event) => (event.type === "progress" ? [event.run.doing] : []));
    expect(doing).toContain("thinking, try 3");
  });

  it("tells how far it is", async () => {
    const { run, events } = await experimentRuntime([...cycle("a"), ...cycle("b")]);
    await run();
    const told = events.flatMap((event) =>
      event.type === "progress"
        ? [`${event.run.status} ${event.run.cycles_done} ${event.run.doing}`]
        : [event.type],
    );
    expect(told.filter((line, at) => line !== told[at - 1])).toEqual([
      "running 0 null",
      "running 0 thinking",
      "running 0 memory_write",
      "running 0 thinking",
      "running 0 reflecting",
      "running 1 reflecting",
      "cycle_end",
      "running 1 thinking",
      "running 1 memory_write",
      "running 1 thinking",
      "running 1 reflecting",
      "running 2 reflecting",
      "cycle_end",
      "done 2 null",
    ]);
    expect(events.at(-1)).toMatchObject({
      run: { usage: { llm_calls: 6, tool_calls: 2, cost_usd: expect.closeTo(0.006) } },
    });
  });
});

describe("a matrix", () => {
  it("runs side by side, each with a memory and a log of its own", async () => {
    let busy = 0;
    let most = 0;
    let open = () => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    const reply: ScriptedReply = async ({ messages }) => {
      most = Math.max(most, (busy += 1));
      if (busy === 3) open();
      await gate;
      busy -= 1;
      const last = messages.at(-1);
      if (last?.text === "Reflect.") return new AIMessage("R");
      if (last?.getType() === "tool") return new AIMessage("Done.");
      const [, seed = ""] = /seed (\S+)\./.exec(messages[0]?.text ?? "") ?? [];
      const args = { key: "seed", value: seed };
      return new AIMessage({ content: "", tool_calls: [{ id: "x", name: "memory_write", args }] });
    };
    const script = Array.from({ length: 12 }, () => reply);
    const { run, runtime } = await experimentRuntime(script);
    const { runs } = await run({
      cycle_count: 1,
      parallel: 3,
      system_prompt: undefined,
      matrix: { system_prompt: { a: "seed a.", b: "seed b.", c: "seed c.", d: "seed d." } },
    });
    expect(runs.map(({ run_id, status }) => [run_id, status])).toEqual([
      ["drift.a", "done"],
      ["drift.b", "done"],
      ["drift.c", "done"],
      ["drift.d", "done"],
    ]);
    expect(most).toBe(3);
    for (const name of ["a", "b", "c", "d"]) {
      expect(await runtime.experimentMemory.of(`drift.${name}`).read("seed")).toBe(name);
    }
  });

  it("goes on where one run fails", async () => {
    const failing: ScriptedReply = () => {
      throw new Error("boom");
    };
    const { run } = await experimentRuntime([failing, ...cycle("a")]);
    const { runs } = await run({
      cycle_count: 1,
      system_prompt: undefined,
      matrix: { system_prompt: { a: "A", b: "B" } },
    });
    expect(runs).toMatchObject([
      { run_id: "drift.a", status: "failed", failure: "boom" },
      { run_id: "drift.b", status: "done" },
    ]);
  });
});

it("gives the same log for the same config on the offline model", async () => {
  const config = {
    model_name: "offline:rules",
    cycle_count: 3,
    model_options: { seed: 42 },
    cycle_prompt:
      'Write "day ${cycle_number}" to memory under the key day-${cycle_number}, and then list the memory keys.',
  } as const;
  const logs = [];
  for (let time = 0; time < 2; time += 1) {
    const { run, log } = await experimentRuntime(null);
    await run(config);
    logs.push(withoutTimes(log("drift")));
  }
  expect(logs[1]).toEqual(logs[0]);
  expect(logs[0]?.length).toBeGreaterThan(15);
});
