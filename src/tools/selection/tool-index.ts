import type { ToolDefinition } from "../../definition/tool/tool.ts";
import type { Embeddings } from "../../models/embeddings/embeddings.ts";
import { contentWords, wordRoot } from "../../models/words.ts";
import { type Bm25, createBm25 } from "./bm25.ts";

/** A tool, or at least its definition. */
export interface SelectableTool {
  readonly definition: Pick<
    ToolDefinition,
    "name" | "description" | "input_schema" | "permissions"
  >;
}

/** Weight of a tool's parameters in its vector, relative to its name and description. */
const parametersShare = 0.25;

const indexes = new WeakMap<readonly SelectableTool[], ToolIndex>();

/** The index of a list of tools: kept as long as the list is, and made anew where its definitions are others. */
export function toolIndexOf(tools: readonly SelectableTool[]): ToolIndex {
  const kept = indexes.get(tools);
  if (kept?.isOf(tools)) return kept;
  const index = new ToolIndex(tools);
  indexes.set(tools, index);
  return index;
}

/** What tools are compared by. */
class ToolIndex {
  readonly #definitions: readonly SelectableTool["definition"][];
  readonly #bm25: Bm25;
  readonly #vectors = new WeakMap<Embeddings, Promise<readonly Float32Array[]>>();

  constructor(tools: readonly SelectableTool[]) {
    this.#definitions = tools.map(({ definition }) => definition);
    this.#bm25 = createBm25(
      this.#definitions.map((one) => termsOf(`${purposeText(one)}\n${parametersText(one)}`)),
    );
  }

  isOf(tools: readonly SelectableTool[]): boolean {
    return (
      tools.length === this.#definitions.length &&
      tools.every(({ definition }, at) => definition === this.#definitions[at])
    );
  }

  /** BM25 of each tool for a text. */
  keywordScores(text: string): Float64Array {
    return this.#bm25.scores(termsOf(text));
  }

  /**
   * A vector of length 1 for each tool, or 0 where nothing is known of its text.
   * @throws EmbeddingError; the next call tries again
   */
  vectors(embeddings: Embeddings): Promise<readonly Float32Array[]> {
    const kept = this.#vectors.get(embeddings);
    if (kept !== undefined) return kept;
    const vectors = embedTools(this.#definitions, embeddings);
    this.#vectors.set(embeddings, vectors);
    vectors.catch(() => this.#vectors.delete(embeddings));
    return vectors;
  }
}

function termsOf(text: string): string[] {
  return contentWords(text).map(wordRoot);
}

async function embedTools(
  definitions: readonly SelectableTool["definition"][],
  embeddings: Embeddings,
): Promise<readonly Float32Array[]> {
  const texts = definitions.flatMap((one) => [purposeText(one), parametersText(one)]);
  const asked = texts.filter((text) => text !== "");
  const answers = (await embeddings.embed(asked)).values();
  const vectors = texts.map((text) => (text === "" ? undefined : answers.next().value));
  return definitions.map((_, at) =>
    joined(vectors[2 * at] ?? new Float32Array(embeddings.dimensions), vectors[2 * at + 1]),
  );
}

function joined(purpose: Float32Array, parameters: Float32Array | undefined): Float32Array {
  if (parameters === undefined) return purpose;
  const sum = purpose.map((value, at) => value + parametersShare * (parameters[at] ?? 0));
  const length = Math.sqrt(sum.reduce((squares, value) => squares + value * value, 0));
  return length > 0 ? sum.map((value) => value / length) : sum;
}

type Described = Pick<ToolDefinition, "name" | "description" | "input_schema">;

/** What a tool is for, in words: its name, parted, and its description. */
export function purposeText({ name, description }: Described): string {
  const parted = name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").replace(/[_-]+/g, " ");
  return `${parted}: ${description}`;
}

/** Names and descriptions of a tool's parameters; empty for a tool without. */
export function parametersText({ input_schema }: Described): string {
  const { properties } = input_schema;
  if (!isRecord(properties)) return "";
  return Object.entries(properties)
    .map(([name, property]) => {
      const description = isRecord(property) ? property["description"] : undefined;
      return typeof description === "string" ? `${name}: ${description}` : name;
    })
    .join("\n");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
