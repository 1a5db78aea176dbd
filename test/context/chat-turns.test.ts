import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { chatTurns } from "../../src/context/chat-turns.ts";
import { stepRecord } from "../helpers/step-record.ts";

const ask = (text: string) => new HumanMessage(text);
const answer = (text: string) => new AIMessage(text);
const call = (id: string) =>
  new AIMessage({ content: "", tool_calls: [{ id, name: "search", args: {} }] });
const result = (id: string) => new ToolMessage({ tool_call_id: id, content: "x" });
const stepOf = (turn: number, id: string) =>
  stepRecord({
    turn_number: turn,
    tool_predictions: [{ id, name: "search", args: {}, reason: "" }],
  });

const shape = (...args: Parameters<typeof chatTurns>) =>
  chatTurns(...args).map(({ turn, asked, answered }) => [
    turn,
    asked.map(({ text }) => text).join(),
    answered.map(({ text }) => text).join(),
  ]);

describe("spokenTurns", () => {
  it("begins a turn with each message of a person's", () => {
    expect(shape([ask("a"), answer("A"), ask("b"), answer("B"), ask("c")], [])).toEqual([
      [0, "a", "A"],
      [1, "b", "B"],
      [2, "c", ""],
    ]);
  });

  it("begins none with a message that was added to a running turn, which it tells", () => {
    const add = (content: string, turn: number) =>
      new HumanMessage({
        content,
        additional_kwargs: {
          within_turn: { turn_number: turn, attempt_number: 0, step_index: 1 },
        },
      });
    const conversation = [ask("a"), add("more", 3), answer("A"), ask("b"), add("and", 4)];
    const turns = chatTurns(conversation, [], { present: 4 });
    expect(turns.map(({ turn, added }) => [turn, added.map(({ text }) => text)])).toEqual([
      [3, ["more"]],
      [4, ["and"]],
    ]);
    expect(turns.map(({ asked }) => asked.map(({ text }) => text))).toEqual([["a"], ["b"]]);
    const odd = new HumanMessage({ content: "c", additional_kwargs: { within_turn: { turn: 1 } } });
    expect(shape([ask("a"), odd], [])).toEqual([
      [0, "a", ""],
      [1, "c", ""],
    ]);
  });

  it("gives a turn that was never answered no answer of another", () => {
    expect(shape([ask("a"), ask("b"), answer("B"), ask("c")], [stepOf(2, "x")])).toEqual([
      [0, "a", ""],
      [1, "b", "B"],
      [2, "c", ""],
    ]);
  });

  it("leaves calls and their results out, and knows by them which turn it is", () => {
    const conversation = [ask("c"), call("x"), result("x"), answer("C"), ask("d")];
    expect(shape(conversation, [stepOf(4, "x")], { present: 7 })).toEqual([
      [4, "c", "C"],
      [7, "d", ""],
    ]);
  });

  it("counts from the turn under way where nothing else tells", () => {
    expect(shape([ask("a"), answer("A"), ask("b")], [], { present: 5 })).toEqual([
      [4, "a", "A"],
      [5, "b", ""],
    ]);
  });

  it("takes several messages as of one turn where that gives as many turns as there are", () => {
    const conversation = [ask("a"), ask("b"), call("x"), result("x"), answer("B"), ask("c")];
    expect(shape(conversation, [stepOf(0, "x")], { present: 1 })).toEqual([
      [0, "a,b", "B"],
      [1, "c", ""],
    ]);
  });

  it("takes no turn from a call whose id two turns have", () => {
    const conversation = [ask("a"), call("x"), answer("A"), ask("b"), call("x"), answer("B")];
    expect(shape(conversation, [stepOf(0, "x"), stepOf(1, "x")], { present: 1 })).toEqual([
      [0, "a", "A"],
      [1, "b", "B"],
    ]);
  });

  it("puts what was said before any person spoke before the first turn", () => {
    expect(shape([answer("Hello."), ask("a")], [], { present: 0 })).toEqual([
      [-1, "", "Hello."],
      [0, "a", ""],
    ]);
  });
});
