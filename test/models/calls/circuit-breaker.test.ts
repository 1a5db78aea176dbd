import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { CircuitBreaker } from "../../../src/models/calls/circuit-breaker.ts";
import { type FailureReason, failureReasons } from "../../../src/state/usage.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import type { WireEntry } from "../../helpers/wire/script.ts";
import { wireServer } from "../../helpers/wire/server.ts";
import { modelOn, refOf } from "../wire/providers.ts";

function breaker() {
  const clock = new ManualClock();
  const circuits = new CircuitBreaker(clock);
  const fail = (times: number, reason: FailureReason = "outage") => {
    for (let i = 0; i < times; i += 1) circuits.failed("openai", reason);
  };
  return { clock, circuits, fail, isOpen: () => circuits.isOpen("openai") };
}

describe("a circuit", () => {
  it("opens after five failures in a row", () => {
    const { circuits, fail, isOpen } = breaker();
    fail(4);
    expect(isOpen()).toBe(false);
    fail(1);
    expect(isOpen()).toBe(true);
    expect(circuits.isOpen("anthropic")).toBe(false);
  });

  it("counts from 0 again after a success", () => {
    const { circuits, fail, isOpen } = breaker();
    fail(4);
    circuits.succeeded("openai");
    fail(4);
    expect(isOpen()).toBe(false);
  });

  it.each(failureReasons)("opens for failures of the provider only: %s", (reason) => {
    const { fail, isOpen } = breaker();
    fail(5, reason);
    expect(isOpen()).toBe(["outage", "timeout", "rate_limit", "quota"].includes(reason));
  });

  it("lets one call through after 30 seconds, and closes when it succeeds", () => {
    const { clock, circuits, fail, isOpen } = breaker();
    fail(5);
    clock.advance(29_999);
    expect(isOpen()).toBe(true);
    clock.advance(1);
    expect([isOpen(), isOpen()]).toEqual([false, true]);
    circuits.succeeded("openai");
    expect([isOpen(), isOpen()]).toEqual([false, false]);
  });

  it("opens again when that call fails", () => {
    const { clock, fail, isOpen } = breaker();
    fail(5);
    clock.advance(30_000);
    expect(isOpen()).toBe(false);
    fail(1);
    clock.advance(29_999);
    expect(isOpen()).toBe(true);
    clock.advance(1);
    expect(isOpen()).toBe(false);
  });

  it.each(["refusal", "bad_request", "context_overflow"] as const)(
    "closes when the provider answers, with %s too",
    (reason) => {
      const { clock, fail, isOpen } = breaker();
      fail(4);
      fail(1, reason);
      fail(4);
      expect(isOpen()).toBe(false);
      fail(1);
      clock.advance(30_000);
      expect(isOpen()).toBe(false);
      fail(1, reason);
      expect(isOpen()).toBe(false);
    },
  );

  it("has the limits that are set", () => {
    const clock = new ManualClock();
    const circuits = new CircuitBreaker(clock, { failures: 1, openMs: 10 });
    circuits.failed("openai", "timeout");
    expect(circuits.isOpen("openai")).toBe(true);
    clock.advance(10);
    expect(circuits.isOpen("openai")).toBe(false);
  });
});

describe("a provider whose calls fail", () => {
  const messages = [new HumanMessage("What is 6 * 7?")];
  const down: WireEntry = { refuse: "server" };
  const ok: WireEntry = { text: "42" };
  const fallback_model = refOf("anthropic");

  it("is skipped while its circuit is open, and asked once after 30 seconds", async () => {
    const clock = new ManualClock();
    const fails = Array.from({ length: 5 }, () => [down, ok]).flat();
    await using server = await wireServer(...fails, ok, down, ok, ok, ok, ok);
    const model = await modelOn("openai", server, { clock, config: { fallback_model } });
    const outcomes = async () => {
      const { calls } = await model.call({ messages }, {});
      return calls.map((one) => `${one.model.split(":", 1)[0]} ${one.outcome}`);
    };
    for (let i = 0; i < 5; i += 1) expect(await outcomes()).toHaveLength(2);
    const skipped = await model.call({ messages }, {});
    expect(skipped).toMatchObject({
      model: fallback_model,
      fallback: { from: refOf("openai"), reason: "outage" },
      usage: { llm_calls: 1 },
    });
    clock.advance(30_000);
    expect(await outcomes()).toEqual(["openai outage", "anthropic stop"]);
    expect(await outcomes()).toEqual(["anthropic stop"]);
    clock.advance(30_000);
    expect(await outcomes()).toEqual(["openai stop"]);
    expect(await outcomes()).toEqual(["openai stop"]);
  });

  it("is asked where no other model is left", async () => {
    const fails = Array.from({ length: 6 }, () => down);
    await using server = await wireServer(...fails, ok);
    const model = await modelOn("openai", server);
    for (let i = 0; i < 6; i += 1) {
      await expect(model.call({ messages }, {})).rejects.toMatchObject({ reason: "outage" });
    }
    expect((await model.call({ messages }, {})).message.text).toBe("42");
  });

  it("is asked where the other model may not take over", async () => {
    const fails = Array.from({ length: 5 }, () => down);
    await using server = await wireServer(...fails, ok);
    const config = { fallback_model, fallback_on: [] };
    const model = await modelOn("openai", server, { config });
    for (let i = 0; i < 5; i += 1) {
      await expect(model.call({ messages }, {})).rejects.toMatchObject({ reason: "outage" });
    }
    expect((await model.call({ messages }, {})).model).toBe(refOf("openai"));
  });

  it("is asked always if circuits are off", async () => {
    const fails = Array.from({ length: 6 }, () => [down, ok]).flat();
    await using server = await wireServer(...fails);
    const options = { config: { fallback_model }, circuitBreaker: false } as const;
    const model = await modelOn("openai", server, options);
    for (let i = 0; i < 6; i += 1) {
      expect((await model.call({ messages }, {})).usage.llm_calls).toBe(2);
    }
  });
});
