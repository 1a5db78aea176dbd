/**
 * Milliseconds to the first token of an answer, and to its last: LangChain's ChatOpenAI alone, and the standard loop
 * around the same model, on the same server. Prints medians and ratios.
 *
 *   npx tsx bench/first-token.ts [--repeats 15]
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ChatOpenAI } from "@langchain/openai";
import { createRuntime, defineAgent, executeAgent } from "../src/index.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: { repeats: { type: "string", default: "15" } },
});
const repeats = Number(options.repeats);
const tokens = 200;

/** Milliseconds before the first token of the next replies. */
let thinkMs = 0;

const server = createServer((request, response) => {
  request.resume().on("end", () => void reply());
  async function reply(): Promise<void> {
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (thinkMs > 0) await sleep(thinkMs);
    for (let at = 0; at < tokens; at += 1) send({ content: at === 0 ? "One" : " word" }, null);
    send({}, "stop");
    response.end("data: [DONE]\n\n");
  }
  function send(delta: object, finish_reason: string | null): void {
    const choices = [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason }];
    const chunk = { id: "c", object: "chat.completion.chunk", created: 0, model: "m", choices };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;

interface Times {
  readonly first: number;
  readonly last: number;
}

const chat = new ChatOpenAI({
  model: "m",
  apiKey: "none",
  configuration: { baseURL: url },
  maxRetries: 0,
});

async function bare(): Promise<Times> {
  const begun = performance.now();
  let first = 0;
  for await (const chunk of await chat.stream("Hello")) {
    if (first === 0 && chunk.text !== "") first = performance.now();
  }
  return { first: first - begun, last: performance.now() - begun };
}

const agent = defineAgent({
  name: "speaker",
  llm_config: { default_model: "openai:m", base_url: url },
});
const runtime = await createRuntime({
  checkpointer: false,
  modelOptions: {
    windows: { "openai:m": 128_000 },
    prices: { "openai:m": { input: 0, output: 0 } },
  },
});

async function loop(): Promise<Times> {
  const begun = performance.now();
  let first = 0;
  await executeAgent(
    agent,
    { message: "Hello" },
    { runtime, onToken: () => void (first ||= performance.now()) },
  );
  return { first: first - begun, last: performance.now() - begun };
}

console.log(`${tokens} tokens, median of ${repeats}, in ms`);
for (const wait of [0, 100, 300]) {
  thinkMs = wait;
  const times: Record<"bare" | "loop", Times[]> = { bare: [], loop: [] };
  for (let round = 0; round < repeats + 3; round += 1) {
    const made = { bare: await bare(), loop: await loop() };
    if (round < 3) continue;
    times.bare.push(made.bare);
    times.loop.push(made.loop);
  }
  const of = (side: "bare" | "loop", key: keyof Times) =>
    median(times[side].map((one) => one[key]));
  const shown = (["first", "last"] as const).map((key) => {
    const [a, b] = [of("bare", key), of("loop", key)];
    return `${key} token ${a.toFixed(1)} bare, ${b.toFixed(1)} loop, ratio ${(b / a).toFixed(2)}`;
  });
  console.log(`  model thinks ${String(wait).padStart(3)} ms: ${shown.join("; ")}`);
}
await runtime.close();
server.close();
server.closeAllConnections();
