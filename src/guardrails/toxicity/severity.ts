/**
 * How bad the library's words are, by the group's severity from 0 to 1. The library has one list for all of them: insults
 * as well as what doctors write.
 */
const groups: readonly (readonly [severity: number, words: readonly string[]])[] = [
  // Slurs against groups of people, and threats.
  [
    0.95,
    [
      "abo",
      "abeed",
      "africoon",
      "arabush",
      "boonga",
      "chingchong",
      "chink",
      "fag",
      "kike",
      "nigger",
      "tranny",
      "retard",
      "spastic",
      "threat",
    ],
  ],
  // Words of anatomy, medicine, law and news, and those that are also names or mean something harmless.
  [
    0.15,
    [
      "anal",
      "anus",
      "bestiality",
      "boob",
      "cock",
      "cum",
      "dick",
      "dyke",
      "ejaculate",
      "fellatio",
      "hentai",
      "hooker",
      "incest",
      "masturbate",
      "negro",
      "orgasm",
      "orgy",
      "penis",
      "porn",
      "prick",
      "rape",
      "scat",
      "semen",
      "sex",
      "tit",
      "turd",
      "vagina",
    ],
  ],
  // Coarse, and aimed at nobody by itself.
  [0.4, ["arse", "ass", "bollocks", "piss", "wank", "jerk off"]],
];

/** Of all others: curses and insults. */
const usual = 0.6;

const severities = new Map(
  groups.flatMap(([severity, words]) => words.map((word) => [word, severity] as const)),
);

/** @param word as the library names it; undefined for a word without a name */
export function severityOf(word: string | undefined): number {
  return word === undefined ? usual : (severities.get(word) ?? usual);
}
