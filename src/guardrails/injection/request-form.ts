import { textPattern } from "./text-pattern.ts";

/** What an assistant is asked to do with words; people are asked other things in their mail. */
const forAssistants = textPattern(
  "^(?:please |kindly |now |then |also |finally |and |bitte )*(?:write|summari[sz]e|translate|generate|create|draft|compose|analy[sz]e|explain|list|describe|compare|determine|calculate|compute|classify|identify|convert|encode|decode|rewrite|rephrase|paraphrase|outline|suggest|recommend|tell me|give me|show me|help me|find|search|provide|recite|sing|design|plan|predict|evaluate|estimate|discuss|define|reply|respond|answer|modify|add|include|insert|integrate|incorporate|augment|enhance|append|use|output|print|say|repeat|solve|name|pretend|imagine|schreib\\p{L}*|übersetz\\p{L}*|erklär\\p{L}*|nenne|fasse|gib|zeige|erstelle|sag)(?!\\p{L})",
);
const openQuestion = textPattern(
  "^(?:so |and |also |now )*(?:what(?:'s| is| are| were| was| do| does| did)|how (?:do|does|did|can|could|should|have|has|to|many|much|is|are)|why|who(?:'s| is| are| was)|when (?:is|was|did|do|does)|where|which|is|are|was|were|does|did|(?:could|can)(?! you\\b)|should|wie|was|warum|wer|wann|wo|welche\\p{L}*)(?!\\p{L})[^\\n]*\\?[\"'}\\])\\s]*$",
);
const politeRequest = textPattern(
  "^(?:can|could|would|will|kannst|können|könntest) (?:you|du|sie) (?:please |also |bitte )?(?!let|contact|call|confirm|bring|come|meet|lend|update|put|share|attach|ask|pick|take|fix|move|join|pay|wait|drop|get|have|be |reply|send|sign|return|forward|get back|advise|check|look|review|approve)",
);
const toPeople = textPattern(
  "\\b(?:i|we|i'm|we're|my|our|us|your (?:order|account|card|invoice|payment|booking|ticket|application|appointment|reservation|delivery|team|subscription)|this (?:e-?mail|invoice|order)|attached|regards|contact us|call us)\\b",
);

/** Whether a sentence has the form of a request for an answer in words, as people put it to an assistant. */
export interface RequestForm {
  readonly order: boolean;
  readonly question: boolean;
  readonly polite: boolean;
  /** It speaks of matters between people: ordinary in their mail. */
  readonly betweenPeople: boolean;
}

export function requestForm(plain: string, ascii: boolean): RequestForm {
  const sentence = plain.replace(ascii ? /^[^a-z]+/ : /^[^\p{L}]+/u, "");
  return {
    order: forAssistants.test(sentence, ascii),
    question: openQuestion.test(sentence, ascii),
    polite: politeRequest.test(sentence, ascii),
    betweenPeople: toPeople.test(sentence, ascii),
  };
}
