import { describe, expect, it } from "vitest";
import { RunInbox } from "../../src/engine/run-inbox.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const message = { id: "m", content: "Hi" };

function setUp(load: () => Promise<readonly (typeof message)[]> = async () => [message]) {
  const clock = new ManualClock();
  let loads = 0;
  const inbox = new RunInbox(clock, () => ((loads += 1), load()));
  return { clock, inbox, loads: () => loads };
}
const endedWith = (status: string) =>
  ({ checkpoint: { channel_values: { status, turn: { inbox: ["m"] } } } }) as never;

describe("RunInbox", () => {
  it("looks once at the beginning, after a notice, and after a second", async () => {
    const { clock, inbox, loads } = setUp();
    expect(await inbox.read()).toEqual([message]);
    expect(await inbox.read()).toEqual([]);
    clock.advance(999);
    expect([await inbox.read(), loads()]).toEqual([[], 1]);
    inbox.notice();
    expect([await inbox.read(), loads()]).toEqual([[message], 2]);
    clock.advance(1_000);
    expect([await inbox.read(), loads()]).toEqual([[message], 3]);
  });

  it("does not lose a notice that comes during a look", async () => {
    let answer = () => {};
    const { inbox, loads } = setUp(
      () => new Promise((resolve) => (answer = () => resolve([message]))),
    );
    const first = inbox.read();
    inbox.notice();
    answer();
    await first;
    const second = inbox.read();
    answer();
    expect([(await second).length, loads()]).toEqual([1, 2]);
  });

  it("looks again after a look that failed, and fails no step", async () => {
    let isDown = true;
    const { inbox } = setUp(async () => {
      if (isDown) throw new Error("no connection");
      return [message];
    });
    expect(await inbox.read()).toEqual([]);
    isDown = false;
    expect(await inbox.read()).toEqual([message]);
  });

  it("has taken what a completed turn contains, if a look found any", async () => {
    const { inbox } = setUp();
    inbox.end(endedWith("COMPLETED"));
    expect(inbox.taken).toEqual([]);
    await inbox.read();
    for (const status of ["CANCELLED", "FAILED", "AWAITING_HUMAN"]) inbox.end(endedWith(status));
    expect(inbox.taken).toEqual([]);
    inbox.end(endedWith("COMPLETED"));
    expect(inbox.taken).toEqual(["m"]);
  });
});
