#!/usr/bin/env node
import process from "node:process";
import { runCli } from "./run-cli.ts";
import { flushed, processIo } from "./process-io.ts";

const code = await runCli(process.argv.slice(2), processIo());
await flushed();
// A tool that ignores its signal may still hold a socket or a timer; the run it belonged to is over.
process.exit(code);
