/**
 * Irregular English words and their base forms, which no stemmer brings together. Each group begins with the base.
 * Forms that are more often another word (`saw`, `left`, `found` as a verb of its own) stand where they are most used.
 */
const groups =
  "arise arose arisen|awake awoke awoken|bear bore borne|beat beaten|become became|begin began begun|bend bent|" +
  "bet betting|bind bound|bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred|bring brought|" +
  "build built|burn burnt|buy bought|catch caught|choose chose chosen|cling clung|come came|creep crept|deal dealt|" +
  "dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|" +
  "feel felt|fight fought|find found|flee fled|fly flew flown flies|forbid forbade forbidden|forget forgot forgotten|" +
  "forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone goes|grind ground|" +
  "grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|kneel knelt|know knew known|lay laid|" +
  "lead led|lean leant|leap leapt|learn learnt|leave left|lend lent|lie lain|light lit|lose lost|make made|mean meant|" +
  "meet met|mistake mistook mistaken|overcome overcame|pay paid|prove proven|ride rode ridden|ring rang rung|" +
  "rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|sew sewn|shake shook shaken|" +
  "shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|" +
  "slide slid|speak spoke spoken|speed sped|spend spent|spin spun|spill spilt|spoil spoilt|spring sprang sprung|" +
  "stand stood|steal stole stolen|stick stuck|sting stung|strike struck stricken|strive strove striven|swear swore sworn|" +
  "sweep swept|swell swollen|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|" +
  "think thought|throw threw thrown|understand understood|undertake undertook undertaken|undergo underwent undergone|" +
  "wake woke woken|wear wore worn|weave wove woven|weep wept|win won|wind wound|withdraw withdrew withdrawn|" +
  "write wrote written|child children|man men|woman women|person people|foot feet|tooth teeth|goose geese|mouse mice|" +
  "life lives|wife wives|knife knives|leaf leaves|half halves|shelf shelves|wolf wolves|thief thieves|loaf loaves|" +
  "self selves|calf calves|good better best|bad worse worst|far farther farthest further furthest|" +
  "little less least|many more most|die dying died dies|tie tying tied ties|lie lying lied lies";

export const irregularForms: ReadonlyMap<string, string> = new Map(
  groups.split("|").flatMap((group) => {
    const [base = "", ...forms] = group.split(" ");
    return forms.map((form) => [form, base] as const);
  }),
);
