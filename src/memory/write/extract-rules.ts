import { stemsOf, wordsOf } from "../../models/words.ts";

/** A fact about the person or the project, as it was stated. */
export interface Fact {
  readonly text: string;
  readonly source: "user" | "agent";
  /** From 0 to 1. */
  readonly importance: number;
  /** What kind of fact it is: `preference`, `correction`, `requested`; empty for others. */
  readonly tags: readonly string[];
  /** Names in it, if a model has listed them. */
  readonly entities?: readonly string[];
}

/** Facts of one text at most. */
export const mostFacts = 20;

const sentenceLength = { least: 6, most: 400 };
const readCharacters = 32_768;

/** Code, quotations and quoted lines: words of others, or no words. */
const quoted =
  /```[^]*?(?:```|(?![^]))|`[^`\n]*`|"[^"\n]{0,300}"|“[^”\n]{0,300}”|^[ \t]{0,3}[>|$].*$/gm;

/** A full stop ends no sentence after these, or within a number. Tried once for each run of marks: time is linear. */
const sentenceEnd =
  /(?<![.!?]|\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|vs|approx|e\.g|i\.e))[.!?]+(?=\s|$)|\n+/g;

/** What follows is a text to work on, not a statement. */
const workOn =
  /\b(?:translat\w+|summari[sz]\w+|proofread\w*|re(?:write|phrase)\w*|paraphras\w+|classif\w+|the following|(?:this|these) (?:text|email|letter|message|paragraph|sentence|line|log|review)s?)\b/i;

const leadIn =
  /^(?:(?:and|but|so|well|also|btw|by the way|oh|ok(?:ay)?|yes|yeah|hi|hello|hey|good (?:morning|evening|afternoon)|thanks|thank you|please|fyi|anyway|first|for context|in case it helps)(?: there| all| team)?\b[\s,:;!–—-]*)+/i;

const relation =
  "wife|husband|partner|spouse|fianc[eé]e?|girlfriend|boyfriend|sons?|daughters?|child|children|kids?|baby|mother|mom|mum|father|dad|parents|brothers?|sisters?|grand(?:mother|father|ma|pa|parents)|uncle|aunt|cousin|nephew|niece|landlord|teacher|boss|manager|team|company|employer|colleagues?|friends?|roommate|flatmate|neighbou?r|dogs?|cats?|pets?|doctor|client|customer";

/** Subjects that hold for a request, not for the person. */
const passing =
  "question|problem|issue|guess|point|concern|request|query|bad|apolog(?:y|ies)|understanding|hope|worry|fear|thinking|feeling|impression|advice|suggestion|answer|message|mistake|fault|turn|pleasure|code|error|input|output|intention|idea|calls?|chat|conversation|talk|session|discussion|screen|file";

/** Predicates that say how something is at the moment, or what the person thinks of it. */
const passingState =
  "(?:(?:not|still|now|already|very|really|so|quite|too|all|just) ){0,2}(?:work\\w*|load\\w*|broken|down|fail\\w*|crash\\w*|late|missing|stuck|wrong|empty|slow|frozen|gone|ready|ok(?:ay)?|fine|done|being|going to be|unclear|simple|that|to|how|why|whether|what|yes|no|great|nice|good|bad|awful|terrible|amazing|awesome|cool|lovely|perfect|attached|below|above|invalid|valid|running (?:again|now)|up|back|important|needed|necessary|urgent|relevant|better|worse|correct|right|enough|an? (?:bit|problem|mess)|interesting|hard|easy|reachable|available|confirmed|angry|ill|sick|tired|happy|sad|busy|upset|worried)";

/** Things that one has for the moment. */
const passingThing =
  "(?:[\\w-]+ )?(?:one\\b|question|problem|issue|doubt|request|feeling|idea|bug|error|list|files?|string|look|guess|suggestion|task|favou?r|outage|incident|crash|failure|leak|meeting|trouble|time|minute|second|fix|deadline)";

const some = "(?:an? |one |two |three |four |five |six |\\d+ )";

const often = "(?:(?:also|now|currently|still|mostly|just|recently|only|all|really|do) )?";

interface Rule {
  readonly form: RegExp;
  readonly importance: number;
  readonly tags?: readonly string[];
}

/** Forms of statements about the person or the project, tried in order at the beginning of a sentence. */
const statements: readonly Rule[] = [
  {
    form: /^(?:remember(?: this| the following)?(?: that\b|[:,])|(?:please )?note(?: that\b|:)|note to self:|keep in mind(?: that\b|[:,])|bear in mind(?: that\b|[:,])|(?:don['’]?t|do not) forget(?: that\b|[:,])|for (?:the record|future reference)[:,]?|(?:just )?so (?:that )?you know[:,]?) (?<fact>.+)/i,
    importance: 0.85,
    tags: ["requested"],
  },
  {
    form: /^(?:no|nope|actually|correction|wrong|not quite|sorry|that(?:['’]s| is| was) (?:wrong|not (?:right|correct|true)|incorrect))\b[\s,.:;!–—-]+(?:i meant )?(?:it|that|this|he|she|they|there|the|my|our|his|her|their|its)\b(?:['’]s|(?: [\w'’-]+){0,5} (?:is|are|was|were|has|should be|lives|works))\b(?! (?:(?:not|still|really|very) )?(?:wrong|what|ok|okay|fine|good|great|all|important|needed|necessary|urgent|relevant|working))(?! .*\b(?:ask|asked|meant to)\b).+/i,
    importance: 0.8,
    tags: ["correction"],
  },
  {
    form: /^(?:from now on|(?:in (?:the )?future|going forward),? (?:please|always|never|use|answer|write|reply|keep|avoid|send|call|do|don['’]?t)|always|never|call me|address me as|(?:don['’]?t|do not) (?:ever|call me))\b(?!,? (?:mind|again|an? |the |happy|glad|nice|good|back|later)).+/i,
    importance: 0.7,
    tags: ["preference"],
  },
  {
    form: /^my (?:full |first |last |middle |real |user ?)?name(?:['’]s| is) .+/i,
    importance: 0.9,
  },
  {
    form: /^(?:i(?:['’]m| am)(?: \w+)? (?:allergic|intolerant|diabetic|vegetarian|vegan|c(?:o|oe)eliac|pregnant)\b|i have (?:an? )?(?:[\w-]+ ){0,3}(?:allerg|intoleran|diabetes|asthma|epilepsy|celiac|coeliac)).*/i,
    importance: 0.9,
  },
  {
    form: /^i (?:(?:really|much|strongly|always|usually|also|still|generally|absolutely|do|just|only) )?(?:prefer|love|hate|dislike|enjoy|adore|avoid|can['’]?t (?:stand|eat|drink|tolerate)|(?:don['’]?t|do not|never|always|usually|only) (?:like|eat|drink|use|work|fly|travel|take|wear|cook|drive|read|buy|stay|sit|write)|like|usually (?:fly|travel|work|take|eat))\b(?! (?:it|this|that|these|those|them|your|how|what|where|when|why|who|which|the (?:idea|first|second|third|last|new|old|former|latter|other|way|answer|sound|result)|to (?:know|ask|see|hear|order|get|have)|on it)\b).+/i,
    importance: 0.7,
    tags: ["preference"],
  },
  {
    form: new RegExp(
      String.raw`^(?:my|our) (?!(?:[\w-]+ )?(?:${passing})\b)(?:[\w'’&/#-]+ ){1,5}?(?:is|are|will be|isn['’]t|aren['’]t|=|(?:runs?|uses?|starts?|ends?|begins?|opens?|closes?|expires?) (?:on|at|in|with|by|from))(?! ${passingState}\b) .+`,
      "i",
    ),
    importance: 0.65,
  },
  {
    form: new RegExp(
      String.raw`^(?:my|our) (?:[\w-]+ )?(?:${relation})(?:-in-law)?\b(?:,? [\p{L}'’.-]+,?){0,2} (?:is|are|was|were|has|have|had|works?|lives?|loves?|likes?|hates?|prefers?|plays?|studies|study|moved|start(?:s|ed)|turn(?:s|ed)|told me|comes? from|got|owns?|runs?|uses?|speaks?|eats?|needs?|died|retired|graduated|bought|joined|sells?|makes?|offers?|builds?|ships?)(?! ${passingState}\b) .+`,
      "iu",
    ),
    importance: 0.65,
  },
  {
    form: /^i(?:['’]m| am) (?:an? (?!bit|little|lot|few|tad)|the (?!one\b)|from |based in |living in |originally from |married|single\b|divorced|retired|called |left-handed|colou?r-?blind|(?:deaf|blind)\b|\d{1,3}(?: years old)?$|responsible for |in charge of |born (?:in|on) |(?:currently )?(?:working|studying) (?:at|for|as|in|with) |learning |on a .{1,30} diet|using [\p{Lu}\d])/iu,
    importance: 0.7,
  },
  {
    form: /^(?:I|i)(?:['’]m| am) (?!OK|Sorry|Not|So)\p{Lu}\p{L}+(?:[ ,.]|$)/u,
    importance: 0.8,
  },
  {
    form: new RegExp(
      String.raw`^i ${often}(?:live(?! for)|work(?! around)|stud(?:y|ied)|teach|come from|grew up|was born|was diagnosed with|moved|speak(?! (?:of|about|to))|own|drive an? |play (?:the |an? |in |football|chess|tennis|guitar|piano|basketball)|commute|take my|use(?! the (?:command|code|function|script|same|following))|am using|eat(?! an?\b)|drink(?! an?\b)|manage|adopted|married|got (?:married|engaged|divorced|a (?:job|dog|cat|new))|bought (?:an?|my|our) |joined|quit|retired|graduated|switched|started (?:at|working|as|a new|learning|my)|run (?:an? )?(?:[\w-]+ ){0,2}?(?:business|company|shop|store|studio|farm|restaurant|bakery|caf[eé]|team|startup|agency|marathons?)\b|have ${some}(?!${passingThing}))(?! (?:it|this|that|the wrong|(?:on|with) (?:it|this|that|the))\b).{2,}`,
      "i",
    ),
    importance: 0.65,
  },
  {
    form: new RegExp(
      String.raw`^i(?:['’]ve| have) (?:got ${some}(?!${passingThing})|been (?:an? (?!bit|little|while)|with |at )|(?:lived|worked) (?:in|at|as|for) ).{2,}`,
      "i",
    ),
    importance: 0.65,
  },
  {
    form: new RegExp(
      String.raw`^we(?:['’]re| are)? (?:never |always |don['’]?t |do not )?${often}(?:us(?:e|ing)(?! the following)|run(?:ning)? (?!into|the script)|deploy|host|ship|support|prefer|target|require|store|write|work (?!on)|live|own|employ|sell|moved|switched|migrated|moving to|based in|an? |have ${some}(?!${passingThing}))\b(?! (?:it|this|that|whatever)\b).{2,}`,
      "i",
    ),
    importance: 0.65,
  },
  {
    form: new RegExp(
      String.raw`^the (?:[\w-]+ ){0,2}(?:deadline|budget|project|client|customer|team|company|office|servers?|database|repo(?:sitory)?|api|production|staging|release|launch|codename|port|host|address|domain|account manager|contract|branch)(?: [\w-]+){0,3} (?:is|are|runs?|uses?|lives?|ends?|begins?|starts?)(?! ${passingState}\b) .+`,
      "i",
    ),
    importance: 0.6,
  },
];

const answered: readonly Rule[] = [
  {
    form: /^(?:(?:understood|got it|ok(?:ay)?|sure|noted|thanks|great)[\s,.:;!–—-]+)*(?:i(?:['’]ll| will) (?:remember|keep in mind|note)|i(?:['’]ve| have) (?:noted|saved|recorded|remembered)|noted:)(?: that)? (?<fact>.+)/i,
    importance: 0.5,
  },
  {
    form: new RegExp(
      String.raw`^your (?!(?:[\w-]+ )?(?:${passing}|welcome|patience|understanding|best|options?|choice|text|data)\b)(?:[\w'’&/#-]+ ){1,5}?(?:is|are|was|were|has been|will be)(?! ${passingState}\b) .+`,
      "i",
    ),
    importance: 0.4,
  },
];

/** Not stated as a fact. */
const hypothetical =
  /^(?:if|when|suppose|imagine|let['’]?s say|say|assum\w+|what if|unless|pretend|as if|for example|e\.g|maybe|perhaps)\b|\b(?:i (?:think|guess|believe|suppose|wonder|hope|might|may|could|would|wish)|i['’]d|(?:i(?:['’]m| am) )?not sure|maybe|probably|perhaps|might be|could be|would be|right\s*$)\b/i;

/**
 * The facts that a person states about themselves or their project: name, place, job, preferences, relations, tools,
 * corrections, and what they ask to remember. English only. Questions, code, quotations, suppositions and texts to work
 * on are none. Precision comes before completeness: what is missed here is still in the entries of the turn.
 */
export function factsOfRequest(request: string): readonly Fact[] {
  return factsIn(request, statements, "user");
}

/**
 * The facts that an answer states as such: what it says it has noted, and what it says about the person's own things.
 * Those that the person has just stated are left out.
 */
export function factsOfAnswer(answer: string, stated: readonly Fact[]): readonly Fact[] {
  const known = stated.map(({ text }) => stemsOf(text));
  return factsIn(answer, answered, "agent").filter(({ text }) => {
    const own = stemsOf(text);
    return !known.some((words) => share(own, words) >= 0.5);
  });
}

function factsIn(text: string, rules: readonly Rule[], source: Fact["source"]): readonly Fact[] {
  const facts = new Map<string, Fact>();
  for (const { sentence, isQuestion } of sentencesOf(text)) {
    if (source === "user" && workOn.test(sentence.slice(0, 2 * sentenceLength.most))) break;
    if (isQuestion || sentence.length > 2 * sentenceLength.most) continue;
    const said = sentence.replace(leadIn, "").trim();
    if (!isStatement(said)) continue;
    const fact = factFrom(said, rules, source);
    if (fact === null || facts.has(fact.text.toLowerCase())) continue;
    facts.set(fact.text.toLowerCase(), fact);
    if (facts.size >= mostFacts) break;
  }
  return [...facts.values()];
}

function factFrom(said: string, rules: readonly Rule[], source: Fact["source"]): Fact | null {
  for (const { form, importance, tags = [] } of rules) {
    const match = form.exec(said);
    if (match === null) continue;
    const fact = (match.groups?.["fact"] ?? said).trim();
    const isOwn = !tags.includes("requested") && !tags.includes("preference");
    if (isOwn && hypothetical.test(said)) return null;
    const text = tags.includes("preference") && !/^i\b/i.test(fact) ? `Asked for: ${fact}` : fact;
    return { text: upperFirst(text), source, importance, tags };
  }
  return null;
}

function isStatement(said: string): boolean {
  if (said.length < sentenceLength.least || said.length > sentenceLength.most) return false;
  const letters = said.match(/[\p{L}\s]/gu)?.length ?? 0;
  return letters >= said.length * 0.6 && wordsOf(said).length >= 3;
}

function sentencesOf(
  text: string,
): readonly { readonly sentence: string; readonly isQuestion: boolean }[] {
  const said = text.slice(0, readCharacters).replace(quoted, " … ");
  const sentences: { sentence: string; isQuestion: boolean }[] = [];
  let start = 0;
  for (const { 0: mark, index } of said.matchAll(sentenceEnd)) {
    sentences.push({ sentence: said.slice(start, index).trim(), isQuestion: mark.includes("?") });
    start = index + mark.length;
  }
  sentences.push({ sentence: said.slice(start).trim(), isQuestion: false });
  return sentences.filter(({ sentence }) => sentence !== "");
}

/** Returns the share of the words of `one` that `other` has too. */
function share(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0) return 1;
  return [...one].filter((word) => other.has(word)).length / one.size;
}

function upperFirst(text: string): string {
  return text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase());
}
