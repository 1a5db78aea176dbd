import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const folder = new URL("counts/", import.meta.url);

export const seasonSchema = z.object({
  season: z.string(),
  nights: z.number(),
  eels: z.number(),
  best_night: z.string(),
  best_eels: z.number(),
});

export type Season = z.infer<typeof seasonSchema>;

/** Counts what a file of `counts/` has: a line for each night, `2025-09-12,95`. */
export async function countSeason(path: string): Promise<Season> {
  const text = await readFile(fileURLToPath(new URL(basename(path), folder)), "utf8");
  const [, ...lines] = text.trim().split("\n");
  const nights = lines.map((line) => {
    const [night = "", eels = ""] = line.split(",");
    return { night, eels: Number(eels) };
  });
  const best = nights.reduce((most, one) => (one.eels > most.eels ? one : most));
  return {
    season: basename(path, ".csv"),
    nights: nights.length,
    eels: nights.reduce((sum, { eels }) => sum + eels, 0),
    best_night: best.night,
    best_eels: best.eels,
  };
}

/** A table of the seasons among some results, and how the last compares with the first. */
export function compareSeasons(results: Readonly<Record<string, unknown>>): string {
  const seasons = Object.values(results)
    .flatMap((result) => seasonSchema.safeParse(result).data ?? [])
    .toSorted((a, b) => a.season.localeCompare(b.season));
  const [first] = seasons;
  const last = seasons.at(-1);
  if (first === undefined || last === undefined || first === last) {
    throw new Error("There are no two seasons to compare.");
  }
  const rows = seasons.map((one) =>
    row(one.season, one.nights, one.eels, `${one.best_night} (${one.best_eels})`),
  );
  const change = last.eels - first.eels;
  const share = Math.round((Math.abs(change) / first.eels) * 1000) / 10;
  const how = change < 0 ? "fewer" : "more";
  return [
    row("season", "nights", "eels", "best night"),
    ...rows,
    `${last.season}: ${Math.abs(change)} eels ${how} than in ${first.season} (${share} %)`,
  ].join("\n");
}

function row(...cells: readonly (string | number)[]): string {
  return cells
    .map((cell) => String(cell).padEnd(8))
    .join("")
    .trimEnd();
}
