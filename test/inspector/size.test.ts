import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

const built = new URL("../../dist/inspector/", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, built));
const page = read("index.html").toString();
const main = /assets\/index-[\w-]+\.js/.exec(page)?.[0] ?? "";

/** The scripts that are loaded with one, itself included: those that it imports at once. */
function loadedWith(name: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, file] of read(name)
    .toString()
    .matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g))
    loadedWith(`assets/${file}`, found);
  return found;
}

/** Kilobytes that a browser loads to show a view. */
function kilobytesOf(view: string): number {
  const file = new RegExp(`${view}-[\\w-]{8}\\.js`).exec(read(main).toString())?.[0] ?? "none";
  const all = new Set([...loadedWith(main), ...loadedWith(`assets/${file}`)]);
  return [...all].reduce((sum, name) => sum + gzipSync(read(name)).length, 0) / 1_000;
}

it.each([
  ["threads-view", 40],
  ["thread-view", 70],
  ["chat-view", 70],
  ["inbox-view", 60],
  ["checkpoints-view", 60],
  ["plan-view", 80],
  ["editor-view", 40],
  ["experiments-view", 60],
  ["schedules-view", 60],
  ["agent-view", 40],
  ["agents-view", 40],
  ["memory-view", 50],
  ["queue-view", 50],
  ["reference-view", 40],
])("loads little to show the %s: at most %i KB of scripts", (view, most) => {
  expect(kilobytesOf(view)).toBeGreaterThan(20);
  expect(kilobytesOf(view)).toBeLessThanOrEqual(most);
});
