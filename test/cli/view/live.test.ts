import { expect, it } from "vitest";
import { LiveWriter } from "../../../src/cli/view/live.ts";
import { createStyle } from "../../../src/cli/view/terminal.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { memorySink } from "../memory-io.ts";

const erase = "\r\u001B[2K";

function writerOn(isTerminal: boolean, columns = 40) {
  const sink = memorySink({ isTerminal, columns });
  const clock = new ManualClock();
  return { sink, clock, writer: new LiveWriter({ sink, clock, style: createStyle(false) }) };
}

it("keeps a line below what it prints, and takes it away in the end", () => {
  const { sink, writer } = writerOn(true);
  writer.setActivity("thinking");
  expect(sink.take()).toBe(`${erase} ⠋  thinking…`);
  writer.print(["one", "two"]);
  expect(sink.take()).toBe(`${erase}one\ntwo\n${erase} ⠙  thinking…`);
  writer.setActivity(null);
  expect(sink.take()).toBe(erase);
  writer.print(["three"]);
  expect(sink.take()).toBe("three\n");
});

it("moves, and counts the seconds of what takes long", () => {
  const { sink, clock, writer } = writerOn(true);
  writer.setActivity("thinking");
  clock.advance(240);
  expect(sink.take().split(erase).slice(1)).toEqual([
    " ⠋  thinking…",
    " ⠙  thinking…",
    " ⠹  thinking…",
  ]);
  clock.advance(2880);
  expect(sink.take().split(erase).at(-1)).toBe(" ⠦  thinking… 3 s");
  writer.setActivity(null);
  expect(clock.pending).toBe(0);
});

it("tells below it what runs at the same time, and for how long", () => {
  const { sink, clock, writer } = writerOn(true);
  const up = `${erase}\u001B[1A`;
  writer.setActivity("0 of 3 done, 1 running", ["split  reader"]);
  expect(sink.take()).toBe(`${erase} ⠋  0 of 3 done, 1 running…\n     split  reader`);
  clock.advance(2040);
  sink.take();
  writer.setActivity("0 of 3 done, 2 running", ["split  reader", "count  counter"]);
  expect(sink.take()).toBe(
    `${up}${erase} ⠇  0 of 3 done, 2 running…\n     split  reader 2 s\n     count  counter`,
  );
  writer.print(["one"]);
  expect(sink.take()).toMatch(`${up}${up}${erase}one\n${erase} ⠏`);
  writer.setActivity(null);
  expect(sink.take()).toBe(`${up}${up}${erase}`);
  expect(clock.pending).toBe(0);
});

it("keeps a text above the activity, and writes only the lines that change", () => {
  const { sink, clock, writer } = writerOn(true);
  const up = `${erase}\u001B[1A`;
  writer.setActivity("thinking");
  sink.take();
  writer.setText(["one", "tw"]);
  expect(sink.take()).toBe(`${erase}one\ntw\n ⠙  thinking…`);
  writer.setText(["one", "two"]);
  expect(sink.take()).toBe(`${up}${erase}two\n ⠙  thinking…`);
  writer.setText(["one", "two"]);
  expect(sink.take()).toBe("");
  clock.advance(240);
  expect(sink.take()).toBe(`${erase} ⠹  thinking…`);
  writer.print(["printed"]);
  expect(sink.take()).toMatch(`${up}${up}${erase}printed\n${erase}one\ntwo\n ⠸`);
  writer.setText([]);
  expect(sink.take()).toBe(`${up}${up}${erase} ⠸  thinking…`);
  writer.setText(["three"]);
  writer.setActivity(null);
  sink.take();
  writer.setActivity("thinking");
  expect(sink.take()).toBe(`${erase} ⠸  thinking…`);
});

it("shows the end of a text that is longer than the terminal, each line on one row", () => {
  const { sink, writer } = writerOn(true, 20);
  writer.setActivity("thinking");
  sink.take();
  const lines = Array.from({ length: 100 }, (_, index) => `line ${index}`);
  writer.setText([...lines, "a line that is wider than the terminal"]);
  const shown = sink.take().replace(erase, "").split("\n");
  expect(shown).toHaveLength(writer.textRoom + 1);
  expect(shown.length).toBeLessThan(24);
  expect(shown.slice(-3)).toEqual(["line 99", "a line that is wid…", " ⠙  thinking…"]);
});

it("reads an activity that changes with time again with every frame", () => {
  const { sink, clock, writer } = writerOn(true);
  let said = "waiting";
  writer.setActivity(() => said);
  clock.advance(2040);
  expect(sink.take().split(erase).at(-1)).toBe(" ⠧  waiting… 2 s");
  said = "running";
  clock.advance(120);
  expect(sink.take().split(erase).at(-1)).toBe(" ⠇  running…");
  writer.setActivity(null);
  expect(clock.pending).toBe(0);
});

it("tells no more than a terminal shows", () => {
  const { sink, writer } = writerOn(true, 20);
  const tasks = Array.from({ length: 20 }, (_, index) => `a subtask with a name ${index}`);
  writer.setActivity("running", tasks);
  const lines = sink.take().split("\n");
  expect(lines).toHaveLength(10);
  expect(lines.slice(-2)).toEqual(["     a subtask wit…", "     and 12 more"]);
});

it("never fills the line, which would break it", () => {
  const { sink, writer } = writerOn(true, 20);
  writer.setActivity("running a_tool_with_a_long_name");
  expect(sink.take()).toBe(`${erase} ⠋  running a_tool…`);
});

it("prints nothing but the lines where it is no terminal", () => {
  const { sink, clock, writer } = writerOn(false);
  writer.setActivity("thinking");
  writer.setText(["a text"]);
  writer.print(["one"]);
  writer.setActivity(null);
  expect(sink.take()).toBe("one\n");
  expect(clock.pending).toBe(0);
});
