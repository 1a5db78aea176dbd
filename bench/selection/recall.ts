import { similarity } from "../../src/models/embeddings/embeddings.ts";
import { contentWords, wordRoot } from "../../src/models/words.ts";
import { createWordEmbeddings } from "../../src/models/embeddings/word-embeddings.ts";
import { createBm25 } from "../../src/tools/selection/bm25.ts";
import { selectTools } from "../../src/tools/selection/select-tools.ts";
import { parametersText, purposeText } from "../../src/tools/selection/tool-index.ts";
import type { SelectionSet } from "./sets.ts";

/** Names of tools, best first, ten at least. */
type Ranking = (query: string) => Promise<readonly string[]>;

const ks = [1, 5, 10];

/**
 * Recall of each way: the share of a request's right tools that are among the first k, averaged over the requests; of
 * all, and of every second one, to see whether a choice holds on both halves.
 */
export async function recallRows(set: SelectionSet): Promise<string[][]> {
  const rows: string[][] = [];
  for (const [name, ranking] of await ways(set)) {
    const recalls: number[][] = [];
    for (const { query, gold } of set.requests) {
      const names = await ranking(query);
      recalls.push(
        ks.map((k) => gold.filter((one) => names.slice(0, k).includes(one)).length / gold.length),
      );
    }
    const odd = recalls.filter((_, at) => at % 2 === 0);
    const even = recalls.filter((_, at) => at % 2 === 1);
    rows.push([name, ...[recalls, odd, even].flatMap(means)]);
  }
  const most = set.requests.map(({ gold }) => ks.map((k) => Math.min(1, k / gold.length)));
  rows.push(["the most there could be", ...means(most), ...Array.from({ length: 6 }, () => "")]);
  return rows;
}

function means(recalls: readonly (readonly number[])[]): string[] {
  return ks.map((_, at) => {
    const sum = recalls.reduce((total, recall) => total + (recall[at] ?? 0), 0);
    return ((100 * sum) / recalls.length).toFixed(1);
  });
}

async function ways({ tools }: SelectionSet): Promise<(readonly [string, Ranking])[]> {
  const names = tools.map(({ definition }) => definition.name);
  const terms = (text: string) => contentWords(text).map(wordRoot);
  const purposes = tools.map(({ definition }) => purposeText(definition));
  const wholes = tools.map(
    ({ definition }) => `${purposeText(definition)}\n${parametersText(definition)}`,
  );
  const embeddings = createWordEmbeddings();
  const vectors = await embeddings.embed(purposes);

  const best = (scores: ArrayLike<number>): string[] =>
    Array.from(scores)
      .map((score, at) => ({ score, name: names[at] ?? "" }))
      .toSorted((a, b) => b.score - a.score)
      .slice(0, 10)
      .map(({ name }) => name);
  const bm25 = (texts: readonly string[]): Ranking => {
    const index = createBm25(texts.map(terms));
    return async (query) => best(index.scores(terms(query)));
  };
  const selection =
    (weights: Parameters<typeof selectTools>[0]["weights"] = {}): Ranking =>
    async (task) => {
      const { selected } = await selectTools({ task, tools, weights });
      return selected.map(({ name }) => name);
    };

  return [
    ["selectTools", selection()],
    ["BM25 alone", bm25(purposes)],
    ["BM25 alone, with parameters", bm25(wholes)],
    [
      "embeddings alone",
      async (query) => {
        const [asked = new Float32Array()] = await embeddings.embed([query]);
        return best(vectors.map((vector) => similarity(asked, vector)));
      },
    ],
    ["selectTools, keyword part alone", selection({ semantic: 0 })],
    ["selectTools, semantic part alone", selection({ keyword: 0 })],
  ];
}
