import { describe, expect, it } from "vitest";
import { asStandIn } from "../../../src/compile/mermaid-text.ts";
import { planMermaid } from "../../../src/cli/draw/plan-mermaid.ts";
import { renderPicture } from "../../../src/cli/draw/render-picture.ts";
import type { ThreadPlan } from "../../../src/runtime/threads/threads.ts";
import { planOf, subtaskState } from "../../helpers/subtasks.ts";
import { threadPlanOf } from "../../helpers/thread-plan.ts";
import { browserHere, needsBrowser } from "./browser.ts";

const browser = browserHere ?? "";

const svgOf = async (...plans: ThreadPlan[]) =>
  Buffer.from(
    await renderPicture(planMermaid(plans, asStandIn), { format: "svg", browser }),
  ).toString();

const countOf = (svg: string, part: RegExp) => svg.match(part)?.length ?? 0;
const nodes = /class="node /g;
const links = /marker-end=/g;
const thickLinks = /class="[^"]*edge-thickness-thick/g;
const thickNodes = /class="node [^"]*is_critical/g;

/** What is to be read in it, without the spaces at which texts are broken into lines. */
const textIn = (svg: string) =>
  svg
    .replaceAll(/<style>.*?<\/style>/gs, "")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/\s/g, "");

const long = "parse-the-quarterly-statement-of-accounts-of-every-branch";
const failed = threadPlanOf({
  plan: planOf({ fetch: "", [long]: "fetch", sum: long, other: "", last: "sum other" }),
  subtasks: {
    fetch: subtaskState(0, 5),
    [long]: subtaskState(5, 9, {
      status: "failed",
      error: { code: "timeout", message: "It took too long." },
    }),
    sum: subtaskState(9, 9, { status: "skipped", started_at: null, error: null }),
    other: subtaskState(0, 2, { status: "running", ended_at: null }),
  },
  waiting: ["other"],
});

/** Each depends on two before it. */
const ids = Array.from({ length: 60 }, (_, index) => `s${index}`);
const many = threadPlanOf({
  plan: planOf(
    Object.fromEntries(
      ids.map((id, at) => [id, at < 2 ? "" : `${ids[at - 1]} ${ids[Math.floor(at / 2) - 1]}`]),
    ),
  ),
  subtasks: Object.fromEntries(ids.map((id, at) => [id, subtaskState(at, at + 1)])),
});

describe.skipIf(browserHere === null)(`the picture of a plan${needsBrowser}`, () => {
  it("has all that is said of each subtask, and what became of it", async () => {
    const svg = await svgOf(failed);
    const shown = textIn(svg);
    for (const part of ["✓fetchw·5.0s", `✗${long}w·4.0s·failed(timeout)`, "–sumw", "?otherw"]) {
      expect(shown).toContain(part);
    }
    expect([countOf(svg, nodes), countOf(svg, links)]).toEqual([5, 4]);
  });

  it("has its critical path thick, however many there are", async () => {
    const svg = await svgOf(many);
    const { length } = many.criticalPath.ids;
    expect(length).toBe(59);
    expect([countOf(svg, nodes), countOf(svg, thickNodes)]).toEqual([60, length]);
    expect(countOf(svg, thickLinks)).toBe(length - 1);
  });

  it("runs downwards in every box", async () => {
    const within = ["team", "execute", "fetch"];
    const svg = await svgOf(failed, { ...failed, node: "inner", within });
    const places = [...svg.matchAll(/class="node [^"]*"[^>]*translate\(([\d.-]+), ([\d.-]+)\)/g)];
    expect(places).toHaveLength(10);
    for (const at of [0, 5]) {
      const [fetch, parse] = places.slice(at).map(([, x, y]) => ({ x: Number(x), y: Number(y) }));
      expect(parse?.y).toBeGreaterThan((fetch?.y ?? 0) + 50);
    }
  });

  it("is written as a PNG", async () => {
    const png = Buffer.from(
      await renderPicture(planMermaid([failed], asStandIn), { format: "png", browser }),
    );
    expect(png.subarray(0, 8).toString("hex")).toBe("89504e470d0a1a0a");
    expect(png.readUInt32BE(20)).toBeGreaterThan(500);
  });
});
