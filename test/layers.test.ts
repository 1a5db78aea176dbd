import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { measureShape, shapeLimits, staticImports } from "./helpers/shape.ts";

/** The rooms of the library. A file imports from its own room and from the rooms before it. */
const rooms = [
  "src/errors.ts",
  "src/clock.ts",
  "src/async.ts",
  "src/event-loop.ts",
  "src/durable-saver.ts",
  "src/nearest-name.ts",
  "src/optional-package.ts",
  "src/own-package.ts",
  "src/values",
  "src/expression",
  "src/state",
  "src/definition",
  "src/models",
  "src/tools",
  "src/guardrails",
  "src/memory",
  "src/context",
  "src/planning",
  "src/compile",
  "src/runtime",
  "src/storage",
  "src/experiment",
  "src/engine",
  "src/server",
  "checkpointers",
  "src/runtime-options.ts",
  "src/app.ts",
  "src/serve-agent.ts",
  "src/create-worker.ts",
  "src/create-server.ts",
  "src/index.ts",
  "src/cli",
];

/** Rooms that know less than their place in the order allows. */
const narrower: Record<string, readonly string[]> = {
  checkpointers: [
    "src/errors.ts",
    "src/clock.ts",
    "src/async.ts",
    "src/event-loop.ts",
    "src/durable-saver.ts",
    "src/values",
    "src/storage",
  ],
};

function roomOf(file: string): string | undefined {
  return rooms.find((room) => file === room || file.startsWith(`${room}/`));
}

/** What is wrong with a file's place or its imports, type imports and `import()` included. `file` is relative to the project. */
function breaches(file: string, source: string): string[] {
  const room = roomOf(file);
  if (room === undefined) return [`${file} is in no room`];
  const allowed = narrower[room] ?? rooms.slice(0, rooms.indexOf(room));
  return ts
    .preProcessFile(source, true, true)
    .importedFiles.filter((imported) => imported.fileName.startsWith("."))
    .map((imported) => posix.join(posix.dirname(file), imported.fileName))
    .filter((target) => roomOf(target) !== room && !allowed.includes(roomOf(target) ?? ""))
    .map((target) => `${file} imports ${target}`);
}

function sourceFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => `${folder}/${path.replaceAll("\\", "/")}`);
}

it("keeps every file in a room and every import going one way", () => {
  const files = [...sourceFiles("src"), ...sourceFiles("checkpointers")];
  expect(files).toContain("src/errors.ts");
  expect(files.flatMap((file) => breaches(file, readFileSync(file, "utf8")))).toEqual([]);
});

it.each([
  ["src/models/a.ts", `import { b } from "../runtime/b.ts";`, "src/runtime/b.ts"],
  ["src/state/a.ts", `import type { B } from "../definition/b.ts";`, "src/definition/b.ts"],
  ["src/tools/a.ts", `export * from "../app.ts";`, "src/app.ts"],
  ["src/tools/a.ts", `const b = await import("../cli/b.ts");`, "src/cli/b.ts"],
  ["src/tools/a.ts", `type B = import("../server/b.ts").B;`, "src/server/b.ts"],
  ["src/server/a.ts", `import { b } from "../../checkpointers/b.ts";`, "checkpointers/b.ts"],
  ["checkpointers/a.ts", `import { b } from "../src/runtime/b.ts";`, "src/runtime/b.ts"],
  ["src/cli/a.ts", `import { b } from "../../test/helpers/b.ts";`, "test/helpers/b.ts"],
])("refuses in %s: %s", (file, source, target) => {
  expect(breaches(file, source)).toEqual([`${file} imports ${target}`]);
});

it("refuses a file in no room", () => {
  expect(breaches("src/utils.ts", "")).toEqual(["src/utils.ts is in no room"]);
});

it("allows a file its own room, the rooms before it, packages and builtins", () => {
  const source = `
    import { z } from "zod";
    import { readFileSync } from "node:fs";
    import { b } from "./b.ts";
    import { noUsage } from "../state/usage.ts";`;
  expect(breaches("src/models/a.ts", source)).toEqual([]);
});

it("starts the command line without LangChain, which a command loads when it needs it", () => {
  const reached = staticImports("src/cli/main.ts");
  expect([...reached].filter((name) => name.startsWith("@"))).toEqual([]);
});

describe("the tree", () => {
  const { modules, medianLines, longest, widest, flows } = measureShape();

  it("has few modules, of a length that can be read at once", () => {
    const [least, most] = shapeLimits.medianLines;
    expect(modules).toBeLessThanOrEqual(shapeLimits.modules);
    expect(medianLines).toBeGreaterThanOrEqual(least);
    expect(medianLines).toBeLessThanOrEqual(most);
    expect(longest.filter(({ lines }) => lines > shapeLimits.lines)).toEqual([]);
    expect(widest.filter((folder) => folder.modules > shapeLimits.folder)).toEqual([]);
  });

  it.each(flows)("shows $name in at most $most modules", ({ modules: opened, most }) => {
    expect(opened).toBeLessThanOrEqual(most);
  });
});
