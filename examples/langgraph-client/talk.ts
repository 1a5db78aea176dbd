/**
 * A conversation over three server processes, two of which are killed:
 *
 *   npx tsx examples/langgraph-client/talk.ts ask Ida
 *   npx tsx examples/langgraph-client/talk.ts approve
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Client } from "@langchain/langgraph-sdk";
import { serve } from "./server.ts";
import { outbox } from "./tools.ts";

const [, program = "", command, name = "Ida"] = process.argv;
const about = { topic: "letters" };

/** Starts a server in a process of its own, and a client of it. */
async function start(title: string) {
  const child: ChildProcess = spawn(process.execPath, [...process.execArgv, program, "serve"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  const [url] = (await once(child.stdout!, "data")) as [Buffer];
  console.log(`${title} listens.`);
  const client = new Client({ apiUrl: url.toString().trim(), apiKey: null });
  const kill = async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
    console.log(`${title} was killed.`);
  };
  return { client, kill };
}

async function ask(): Promise<void> {
  const { client, kill } = await start("Server 1");
  const definition: unknown = JSON.parse(
    readFileSync(new URL("agent.json", import.meta.url), "utf8"),
  );
  const config = { configurable: { definition } };
  await client.assistants.create({ graphId: "letter-desk", config, ifExists: "do_nothing" });
  const { thread_id } = await client.threads.create({ metadata: about });
  const input = { input: { message: name } };
  for await (const { event, data } of client.runs.stream(thread_id, "letter-desk", {
    input,
    streamMode: "updates",
  }))
    console.log(event, ...(event === "updates" ? Object.keys(data) : []));
  await kill();
}

async function approve(): Promise<void> {
  const second = await start("Server 2");
  const [thread] = await second.client.threads.search({ metadata: about, status: "interrupted" });
  if (thread === undefined) throw new Error("No letter waits for approval. Ask first.");
  const { thread_id, interrupts } = thread;
  for (const { value } of Object.values(interrupts).flat()) {
    const { prompt, proposed } = value as { readonly prompt: string; readonly proposed: string };
    console.log(prompt, proposed);
  }
  const run = await second.client.runs.create(thread_id, "letter-desk", {
    command: { resume: "approve" },
    streamMode: "updates",
  });
  let lastEventId = "-1";
  for await (const { id, data } of second.client.runs.joinStream(thread_id, run.run_id)) {
    lastEventId = id ?? lastEventId;
    if (!("send" in data)) continue;
    console.log("The letter is sent, and a copy is being filed.");
    break;
  }
  await second.kill();

  const third = await start("Server 3");
  const rest = third.client.runs.joinStream(thread_id, run.run_id, { lastEventId });
  for await (const { event, data } of rest)
    console.log(event, ...(event === "updates" ? Object.keys(data) : []));
  const { values, next } = await third.client.threads.getState(thread_id);
  const { status, output } = values as { readonly status: string; readonly output: object };
  console.log(status, output, "next:", next);
  console.log("Outbox:", readFileSync(outbox, "utf8").trim().split("\n"));
  await third.kill();
}

if (command === "serve") console.log(await serve());
else await (command === "approve" ? approve() : ask());
