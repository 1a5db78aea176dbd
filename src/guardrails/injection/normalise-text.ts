/** A text as a reader sees it, and how it was disguised. */
export interface NormalText {
  /** Lower case, without what cannot be seen, look-alikes replaced. */
  readonly plain: string;
  /** Characters of width zero, or from the block of tags. */
  readonly hidden: boolean;
  /** Words that mix Latin letters with look-alikes of other scripts. */
  readonly lookAlikes: boolean;
  /** Words with digits for letters: `1gn0re`. */
  readonly digitsForLetters: boolean;
  /** Words with a space between all letters. */
  readonly spaced: boolean;
  /** `plain` is of ASCII characters alone. */
  readonly ascii: boolean;
}

const invisible =
  /\u034f|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
const letterRun = /\p{L}+/gu;
const latin = /\p{Script=Latin}/u;
const lookAlike = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;
const spacedWord = /(?<![\p{L}\p{N}])(?:\p{L}[ .\-_*]){4,}\p{L}(?![\p{L}\p{N}])/gu;
const digitWord =
  /(?<![\p{L}\p{N}@$])(?=[\p{L}@$]{0,24}[013457@$][\p{L}@$]{0,24}\p{L})(?=[013457@$]{0,24}\p{L})[\p{L}013457@$]{4,24}(?![\p{L}\p{N}@$.])/gu;

/** Letters of other scripts that look like Latin ones: the common part of Unicode's confusables (UTS 39). */
const latinOf = new Map(
  Object.entries({
    а: "a",
    в: "b",
    е: "e",
    ё: "e",
    һ: "h",
    і: "i",
    ј: "j",
    к: "k",
    ӏ: "l",
    м: "m",
    н: "h",
    о: "o",
    р: "p",
    с: "c",
    ѕ: "s",
    т: "t",
    у: "y",
    х: "x",
    ԁ: "d",
    ԛ: "q",
    ԝ: "w",
    α: "a",
    ε: "e",
    ι: "i",
    κ: "k",
    ν: "v",
    ο: "o",
    ρ: "p",
    τ: "t",
    υ: "u",
    χ: "x",
    γ: "y",
    η: "n",
    ω: "w",
  }),
);
const letterOf = new Map(
  Object.entries({ "0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", $: "s" }),
);

const onlyAscii = /^[\0-\x7f]*$/;
/** What `spacedWord` and `digitWord` need at least. */
const mayBeSpaced = /(?<![a-z0-9])(?:[a-z][ .\-_*]){4}[a-z]/;
const mayMix = /[\u0370-\u052f]/;
const mayHaveDigits = /[a-z][013457@$]+[a-z]/;

/** Undoes what makes a text look the same to people and different to patterns. Linear in the text. */
export function normalText(text: string): NormalText {
  // Joiners stand in ordinary emoji and in Indic and Arabic words: only between Latin letters do they hide something.
  const wasAscii = onlyAscii.test(text);
  if (wasAscii) {
    const plain = text.toLowerCase();
    if (!mayBeSpaced.test(plain) && !mayHaveDigits.test(plain)) return quiet(plain);
  }
  const hidden =
    !wasAscii &&
    /[a-z][\u200b-\u200d\u2060-\u2064\ufeff\u00ad][a-z]|[\u{e0000}-\u{e007f}]/iu.test(text);
  let plain = wasAscii
    ? text.toLowerCase()
    : text.replace(invisible, "").normalize("NFKC").toLowerCase();
  let lookAlikes = false;
  if (mayMix.test(plain)) {
    plain = plain.replace(letterRun, (letters) => {
      if (!latin.test(letters) || !lookAlike.test(letters)) return letters;
      lookAlikes = true;
      return Array.from(letters, (letter) => latinOf.get(letter) ?? letter).join("");
    });
  }
  let spaced = false;
  if (mayBeSpaced.test(plain) || !wasAscii) {
    plain = plain.replace(spacedWord, (letters) => {
      spaced = true;
      return letters.replace(/[ .\-_*]/g, "");
    });
  }
  let digits = 0;
  if (mayHaveDigits.test(plain) || !wasAscii)
    plain = plain.replace(digitWord, (word) => {
      const letters = Array.from(word, (char) => letterOf.get(char) ?? char).join("");
      // A name such as `mp3player` or `a4` is no disguise: at least two letters must be replaced, or one amid letters.
      const replaced = word.match(/[013457@$]/g)?.length ?? 0;
      if (replaced < 2 && !/\p{L}[013457@$]\p{L}/u.test(word)) return word;
      digits += 1;
      return letters;
    });
  plain = straightQuotes(plain);
  return {
    plain,
    ascii: wasAscii || onlyAscii.test(plain),
    hidden,
    lookAlikes,
    digitsForLetters: digits >= 2,
    spaced,
  };
}

function quiet(plain: string): NormalText {
  return {
    plain: straightQuotes(plain),
    ascii: true,
    hidden: false,
    lookAlikes: false,
    digitsForLetters: false,
    spaced: false,
  };
}

function straightQuotes(text: string): string {
  return text.replace(/[’‘`´]/g, "'").replace(/[“”„«»]/g, '"');
}
