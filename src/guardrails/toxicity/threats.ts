/**
 * Threats to a reader's life and calls to end it, which the library's list does not have, in its pattern language: `|` is
 * a word's edge, and a doubled letter other than b, e, g, l, o and s is written once. Only what can hardly be meant otherwise: "this will kill you" is said of poisons and of bugs.
 */
export const threats: readonly string[] = [
  "|kill yourself",
  "|kill urself",
  "|kys|",
  "|i will kill you|",
  "|i'll kill you|",
  "|i am going to kill you|",
  "|i'm going to kill you|",
  "|gona kill you|",
  "|i will hurt you|",
  "|i'll hurt you|",
  "|you deserve to die|",
  "|hope you die|",
  "|go hang yourself",
];
