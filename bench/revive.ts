/**
 * Time to read one stored message of about 1 KB by LangGraph's serializer and by ours, and to freeze it, in one run; for
 * comparison, to write one. Prints medians.
 *
 *   npx tsx bench/revive.ts [--repeats 15] [--messages 2000]
 */
import { parseArgs } from "node:util";
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { freezeElement } from "../checkpointers/elements/freeze.ts";
import { keepData } from "../checkpointers/elements/revive.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: {
    repeats: { type: "string", default: "15" },
    messages: { type: "string", default: "2000" },
  },
});
const count = Number(options.messages);
const { serde } = new MemorySaver();
const ours = keepData(serde);
const { revive } = ours;

/** Questions, calls of tools, their results and answers in turn. */
function message(i: number): BaseMessage {
  const text = `${i} The quick brown fox jumps over the lazy dog. `;
  const id = `message-${i}`;
  const response_metadata = { model_name: "gpt-4.1-mini", finish_reason: "stop", usage: null };
  const usage_metadata = { input_tokens: i, output_tokens: 20, total_tokens: i + 20 };
  switch (i % 4) {
    case 0:
      return new HumanMessage({ id, content: text.repeat(17) });
    case 1:
      return new AIMessage({
        id,
        content: "",
        tool_calls: [
          { id: `call_${i}`, name: "search", args: { query: text.repeat(8), limit: 10 } },
        ],
        response_metadata,
        usage_metadata,
      });
    case 2:
      return new ToolMessage({
        id,
        name: "search",
        tool_call_id: `call_${i - 1}`,
        content: text.repeat(15),
        status: "success",
      });
    default:
      return new AIMessage({ id, content: text.repeat(10), response_metadata, usage_metadata });
  }
}

/** Microseconds a message of each way, medians of the repeats. The ways take turns, so that all meet the same machine. */
async function measure(ways: Record<string, () => unknown>): Promise<void> {
  const times: Record<string, number[]> = {};
  for (let repeat = -2; repeat < Number(options.repeats); repeat += 1) {
    for (const [name, way] of Object.entries(ways)) {
      const start = performance.now();
      await way();
      const time = ((performance.now() - start) / count) * 1000;
      if (repeat >= 0) (times[name] ??= []).push(time);
    }
  }
  for (const [name, all] of Object.entries(times))
    console.log(`  ${name.padEnd(40)} ${median(all).toFixed(2).padStart(7)} µs a message`);
}

const messages = Array.from({ length: count }, (_, i) => message(i));
const stored = await Promise.all(messages.map((one) => serde.dumpsTyped(one)));
const bytes = stored.reduce((sum, [, blob]) => sum + blob.byteLength, 0);
console.log(
  `${count} messages of ${Math.round(bytes / count)} bytes, median of ${options.repeats}:`,
);

console.log("reading");
await measure({
  "LangGraph's serializer": async () => {
    for (const [type, blob] of stored) await serde.loadsTyped(type, blob);
  },
  "LangGraph's serializer, all at once": () =>
    Promise.all(stored.map(([type, blob]) => serde.loadsTyped(type, blob))),
  ours: () => {
    for (const [type, blob] of stored) void revive(type, blob);
  },
  "JSON.parse alone, no messages made": () => {
    for (const [, blob] of stored) JSON.parse(Buffer.from(blob).toString());
  },
});

console.log("writing");
await measure({
  "LangGraph's serializer": async () => {
    for (const one of messages) await serde.dumpsTyped(one);
  },
  "ours, which looks for what is to be escaped": async () => {
    for (const one of messages) await ours.dumpsTyped(one);
  },
});

console.log("reading and freezing");
await measure({
  ours: () => {
    for (const [type, blob] of stored) freezeElement(revive(type, blob));
  },
});
