import fc from "fast-check";
import { expect, it } from "vitest";
import { matchWorker, workerMatcher, type WorkerProfile } from "../../src/planning/match-worker.ts";

const tool = (name: string, description = "") => ({ name, description });
const workers: readonly WorkerProfile[] = [
  {
    name: "general",
    description: "Does whatever is asked.",
    tools: [],
  },
  {
    name: "webResearcher",
    description: "Finds facts on the web.",
    tools: [tool("search_web", "Searches pages"), tool("fetch_page")],
  },
  {
    name: "data_analyst",
    description: "Analyses tables of numbers.",
    tools: [tool("run_sql", "Runs a query on the orders database"), tool("draw_chart")],
  },
  { name: "writer", description: "Writes reports and pages.", tools: [] },
];
const match = (description: string, expected_output?: string) =>
  matchWorker({ description, expected_output }, workers);

it.each([
  ["Analyze the sales table", "data_analyst"],
  ["Research which countries have four capitals", "webResearcher"],
  ["writing a summary", "writer"],
  ["Draw charts per region", "data_analyst"],
  ["Query orders of May", "data_analyst"],
  ["Find a fact", "webResearcher"],
])("takes for '%s' %s", (description, worker) => {
  expect(match(description)).toBe(worker);
});

it("looks at the expected output as well", () => {
  expect(match("Summarise May", "a report")).toBe("writer");
});

it("lets a worker's own words count more than its tools'", () => {
  // A page: fetched by a tool of one, what the other is for.
  expect(match("the page")).toBe("writer");
});

it("lets rare words count more", () => {
  const common = (name: string, description: string) => ({ name, description, tools: [] });
  const many = [
    common("a", "invoice customer"),
    common("b", "invoice customer"),
    common("c", "invoice customer"),
    common("d", "passport"),
  ];
  expect(matchWorker({ description: "invoice customer" }, many)).toBe("a");
  expect(matchWorker({ description: "the passport on the invoice" }, many)).toBe("d");
});

it("counts a word that every worker has", () => {
  const both = [
    { name: "fetcher", description: "", tools: [tool("fetch_page")] },
    { name: "writer", description: "Writes pages", tools: [] },
  ];
  expect(matchWorker({ description: "the page" }, both)).toBe("writer");
});

it("takes the first where nothing is shared, or all is shared alike", () => {
  expect(match("xyzzy")).toBe("general");
  expect(match("")).toBe("general");
  expect(match("the with and of")).toBe("general");
  const twins = ["b", "a"].map((name) => ({ name, description: "Plans routes", tools: [] }));
  expect(matchWorker({ description: "plan a route" }, twins)).toBe("b");
});

it("takes one of the workers, always the same", () => {
  const words = fc
    .array(fc.constantFrom("page", "web", "report", "constructor", "__proto__", "ß", "1"))
    .map((all) => all.join(" "));
  const profile = fc.record({
    name: words,
    description: words,
    tools: fc.array(fc.record({ name: words, description: words })),
  });
  fc.assert(
    fc.property(fc.array(profile, { minLength: 1 }), words, (all, description) => {
      const taken = matchWorker({ description }, all);
      expect(all.map(({ name }) => name)).toContain(taken);
      expect(workerMatcher(structuredClone(all))({ description })).toBe(taken);
    }),
  );
});
