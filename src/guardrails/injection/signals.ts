import { textPattern, type TextPattern } from "./words.ts";

/** Verbs that ask to drop something, in the languages of the public data and some more. */
const drop =
  "ignor(?:e|es|ed|ing|ier\\w*|ez|a|ar|en)|disregard\\w*|forget|overrid(?:e|es|ing)|bypass|neglect|abandon|discard|vergiss|vergessen sie|vergesst|missachte\\w*|verwirf|lassen sie .{0,40}hinter|olvid\\w+|oublie[zr]?|dimentica\\w*|esque[çc]a\\w*|vergeet|negeer|zaboravi\\w*|zanemari\\w*|zapomn\\w+|zignoruj\\w*|забуд\\p{L}*|игнорир\\p{L}*|忽略|忽视|无视|忘记|無視|忘れ|무시|잊어|unut|αγνο\\p{L}*|ξέχασ\\p{L}*|abaikan|lupakan|bỏ qua";
/** What there is to drop. */
const rules =
  "instru[ck]\\p{L}*|directi\\p{L}*|prompts?|orders?|rules?|guidelines?|commands?|constraints?|restrictions?|assignments?|everything|all (?:of )?(?:the|this|that|your|previous|prior|above)|above|before|previous|prior|preceding|earlier|anweisung\\p{L}*|auftr[aä]g\\p{L}*|befehl\\p{L}*|regeln|vorgaben|angaben|vorherig\\p{L}*|bisherig\\p{L}*|alles|davor|obig\\p{L}*|todo|anterior\\p{L}*|pr[ée]c[ée]dent\\p{L}*|tout|consignes|precedenti|инструкци\\p{L}*|всё|指示|指令|以前|之前|지시|이전|nalog\\p{L}*|οδηγ\\p{L}*|instruksi|hướng dẫn";
const ask =
  "show|print|reveal|repeat|display|output|tell|list|give|share|leak|expose|dump|recite|spell|what (?:is|are|was|were|would)|was ist|wie lautet|quel(?:le)? est|cu[aá]l es|zeige?n?|nenne?n?|gib|geben|verrate?n?|sag|wiederhole?n?|affiche|montre|muestra|revela|dime";
const answer =
  "response|reply|answer|output|summary|message|antwort|ausgabe|zusammenfassung|réponse|respuesta";

const find = textPattern;
const dropVerb = textPattern(drop);
/** A pattern that contains such a verb: most sentences have none, which is cheaper to test. */
const findDrop = (source: string): TextPattern => {
  const pattern = textPattern(source);
  return { test: (plain, ascii) => dropVerb.test(plain, ascii) && pattern.test(plain, ascii) };
};

/**
 * Signs of an attack that people know, each a pattern on the normal text (normalise-text.ts). What each is worth was
 * learned together with the words; none decides alone. The order is that of their weights in weights.json.
 */
export const signals: readonly (readonly [name: string, pattern: TextPattern])[] = [
  [
    "override",
    findDrop(
      `(?:${drop})[^.!?\\n]{0,40}?(?:${rules})|(?:${rules})[^.!?\\n]{0,40}(?:ignor|vergess|forget|disregard|無視|忘れ|무시|잊어|忽略)`,
    ),
  ],
  [
    "drops what it was told",
    findDrop(
      `(?:${drop})[^.!?\\n]{0,30}?(?<!\\p{L})(?:(?:previous|prior|above|preceding|earlier|all|your|any|these|those|the) (?:\\p{L}+ ){0,2}(?:instru[ck]|directi|prompt|orders?\\b|guideline|command|training|assignment|programming|thoughts|rules?\\b)|everything|(?:the|all) (?:of the )?above|all (?:that|of that|i said)|alle[ns]? (?:\\p{L}+ )?(?:anweis|auftr|befehl|instru|regel|angaben|davor|was)|alles|todas? (?:las|tus|sus)|toutes? (?:les|tes|vos)|все|所有)`,
    ),
  ],
  [
    "drops an ordinary thing",
    findDrop(
      `(?:${drop})[^.!?\\n]{0,30}(?<!\\p{L})(?:e-?mails?|mails?|messages?|letters?|attachments?|warnings?|errors?|files?|lines?|rows?|values?|cases?|invoices?|reminders?|notices?|notes?|links?|passwor[dt]\\p{L}*|pin|cache|default\\p{L}*|settings?|nachricht\\p{L}*|rechnung\\p{L}*|datei\\p{L}*|contraseña|appointments?|termin\\p{L}*)(?!\\p{L})`,
    ),
  ],
  [
    "override first",
    findDrop(
      `^[^\\p{L}]{0,4}(?:please |bitte |now |stop,? |und |and |but |then )*(?:${drop})(?!\\p{L})`,
    ),
  ],
  ["drop verb", findDrop(`(?<!\\p{L})(?:${drop})(?!\\p{L})`)],
  [
    "earlier rules",
    find(
      "(?:previous|prior|preceding|earlier|above|initial|original|vorherig\\p{L}*|bisherig\\p{L}*|obig\\p{L}*) (?:\\p{L}+ )?(?:instru|direct|prompt|order|rule|guideline|command|text|message|conversation|anweis|befehl|auftr|information|angaben|ausführ)",
    ),
  ],
  [
    "new task",
    find(
      "\\b(?:new|next|real|actual|neue[nrs]?|nueva) (?:task|instruction|assignment|order|rule|objective|challenge|aufgabe|anweisung|herausforderung|instruc)|from now on|(?:ab|von) (?:jetzt|sofort|nun) an?\\b|your instructions (?:are|to)|additional instruction|following task|another task|weiteren aufgabe|folgende[rn] (?:aufgabe|frage)|your task is now|start(?:en|ing)? (?:over|von neu)",
    ),
  ],
  [
    "praise and turn",
    find(
      "well done|great job|very good|did (?:it )?(?:really )?(?:great|well)|sehr gut|gut gemacht|ausgezeichnet|das war(?: schon)?|that was (?:ok|fine|good)",
    ),
  ],
  ["stop", find("^[^\\p{L}]{0,3}stop\\b|\\bstop ?[:,;!–-]|\\bbut (?:then|now|first),? ")],
  [
    "persona",
    find(
      "you(?:'re| are) (?:now|going to|about to|no longer|to act)|\\b(?:act|behave|respond|answer|speak|talk|roleplay|role-play|pose) (?:as|like) (?:an?|the|if|my|you)|pretend|role-?play|imagine (?:you|that you)|take on the role|in (?:the|your) role|stay in character|break character|persona|(?:du bist|sie sind|bist du) (?:jetzt|nun|ab)|stell dir vor|so als (?:ob|wärst)|agis comme|act[uú]a como|immerse|simulate|character",
    ),
  ],
  [
    "you are",
    find(
      "^[^\\p{L}]{0,4}(?:now |ok\\.? |okay\\.? |jetzt |nun )*(?:you are|you're|du bist|bist du|sie sind|tu es|eres)\\b",
    ),
  ],
  [
    "unbound",
    find(
      "do anything now|\\bdan\\b|jailbr|unfiltered|uncensored|unrestricted|unethical|immoral|amoral|\\b(?:no|without|free (?:of|from)|bypass|any) (?:\\p{L}+ ){0,2}(?:restriction|limitation|censorship|filter|warning|disclaimer|moral|ethic|guideline|policy|policies|rules|confines)|developer mode|never refuse|content polic|openai|anything you want",
    ),
  ],
  [
    "leaks the prompt",
    find(
      `(?:${ask})[^.!?\\n]{0,50}(?:(?:your|system|initial|hidden|secret|original|full|entire|first|all|deine\\p{L}*|ihre\\p{L}*) (?:\\p{L}+ )?(?:prompt|instruct|rule|guideline|directive|anweisung|text)|prompt ?_?texts?|(?:text|sentence|word|line)s? (?:above|before)|everything above)`,
    ),
  ],
  [
    "asks for its prompt",
    find(
      "(?:show|print|reveal|repeat|display|output|tell|list|give|say|write|copy|quote|what(?:'s| is| are| were| does| do)|zeig\\p{L}*|nenne|gib|wie lauten|was sind)[^.!?\\n]{0,25} (?:your|deine\\p{L}*|ihre\\p{L}*) (?:\\p{L}+ ){0,2}(?:prompts?|instructions|directives|anweisungen|instruktionen)(?!\\p{L})|(?:read|quote|what is in) (?:me )?your (?:\\p{L}+ )?(?:prompt|instructions)(?!\\p{L})|(?:repeat|print|copy|output|show|say)[^.!?\\n]{0,25}(?:everything|all|text|words?|sentences?|lines?) (?:that (?:is|was|stands) |written )?(?:above|before this)",
    ),
  ],
  [
    "chat markup",
    find(
      "<\\|?/?(?:im_start|im_end|endoftext|begin_of_text|eot_id|start_header_id)|\\[/?inst\\]|<</?sys>>|</?system>|\\|im_(?:start|end)\\|",
    ),
  ],
  [
    "system prompt",
    find(
      "system ?(?:prompt|message|instruction|anweisung)|initial prompt|prompt[_ ]?texts?|hidden instructions|pre-?prompt",
    ),
  ],
  [
    "asks for a secret",
    find(
      `(?:${ask}|know|need|brauche|hint|describe|write)[^.!?\\n]{0,60}(?:pass ?(?:word|code|phrase)|passwort|passwörter|secret|api.?key|credential|geheimnis|geheim|contraseña|mot de passe|senha|пароль|密码|パスワード|비밀번호|code ?word|\\bpin\\b)`,
    ),
  ],
  [
    "your secret",
    find(
      "your (?:\\p{L}+ )?(?:password|passcode|secret|key|code|pass ?phrase)|(?:dein|ihr) (?:geheim\\p{L}*|passwort|schlüssel)",
    ),
  ],
  ["about the user", find("\\bthe user(?:'s)?\\b|\\buser's\\b")],
  [
    "fake role",
    find(
      "(?:^|\\n|\\s)(?:system|assistant|user|human|admin|developer|ai)\\s?(?:\\]|:|>)|<\\|?/?(?:im_start|im_end|system|sys|assistant|user|endoftext|inst)|\\[/?(?:inst|system|sys)|<<sys>>|#{2,} ?(?:system|instruction|response|human|assistant)",
    ),
  ],
  [
    "mode",
    find(
      "(?:system|admin|debug|developer|god|root|override|maintenance|dev|sudo|jailbreak|simulation|entwickler)[- _]?(?:mode|modus|access|override|privilege)|mode (?:activated|enabled|on\\b)|override_mode",
    ),
  ],
  [
    "fence",
    find(
      '(?:-{4,}|={4,}|\\*{4,}|#{4,}|`{3,}|"{3}) ?(?:end|begin|new|start|system|instruct|important|ignore)|(?:end|begin|start) of (?:the )?(?:\\p{L}+ )?(?:document|data|context|text|input|prompt|instruction|email|article)|</(?:data|document|context|input|text|tool|result|email)>',
    ),
  ],
  [
    "say exactly",
    find(
      "(?:say|print|output|write|repeat|respond|reply|answer|state|sage?n?|schreibe?n?|antworte?n?|dites?|dis|diga|tell me)[^.!?\\n]{0,40}[:\"'] ?\\p{L}|repeat after me|say (?:yes|no|that)|state that|sag(?:en)?,? dass|print \\p{L}+ \\d+ times",
    ),
  ],
  [
    "nothing else",
    find(
      "\\b(?:only|just|nur) (?:output|respond|answer|say|reply|print|write|antworte|sage|schreibe)|nothing (?:else|more)|nichts (?:anderes|weiter)|do ?n(?:o|')t (?:answer|explain|look|use|write|mention|reply|include|follow)|no explanations",
    ),
  ],
  [
    "changes the answer",
    find(
      `(?:modify|change|alter|adjust|add|append|include|insert|integrate|incorporate|embed|enhance|augment|enrich|extend|supplement|embellish|infuse|weave|introduce|replace|substitute|swap|rewrite|translate|convert|transform|encode|encrypt|render|provide|give|present|deliver|write|craft|compose|format|end|begin|start|finish|conclude|make|use|respond|ändere?|ergänze?|übersetze?|beende?)[^.!?\\n]{0,90}(?:your|the|my|deine?r?|ihre?r?|tu|votre) (?:\\p{L}+ )?(?:${answer})|(?:in|to|of|for|with|within) (?:your|deine\\p{L}) (?:\\p{L}+ )?(?:${answer})`,
    ),
  ],
  ["your answer", find(`(?:your|deine?r?|ihre) (?:\\p{L}+ )?(?:${answer})\\b`)],
  [
    "says how to answer",
    find(
      "^[^\\p{L}]{0,4}(?:please )?(?:reply|respond|answer|antworte|communicate|speak|write back) (?:back )?(?:in|using|with|by|as|only|to|auf)",
    ),
  ],
  [
    "cipher",
    find(
      "base ?-?(?:64|32)|caesar|rot-?13|cipher|in reverse|reverse (?:order|sequence)|backwards?|rückwärts|emojis?\\b|morse|hexadecimal|pig latin|leetspeak|binary code|character level|alphabet|acrostic|anagram|encod(?:e|ing)|every other (?:word|letter)",
    ),
  ],
  [
    "speaks to a model",
    find(
      "(?:dear|hello|hi|hey|hallo|attention|note to|message to|instructions? (?:for|to)|achtung) (?:the |all |any )?(?:ai|assistant|chat ?gpt|gpt|llm|bot|chatbot|model|agent|language model)\\b|\\b(?:chat ?gpt|language model|llm|ai (?:assistant|model|agent|system))s?\\b|as an ai\\b|large language",
    ),
  ],
  [
    "tool call",
    find(
      '"(?:tool|tool_name|tool_calls?|function|function_call|recipient_name)" ?: ?["{[][^]{0,200}?"(?:arguments|args|parameters|input|tool_input|action_input)" ?: ?"?\\{|"name" ?: ?"[\\w.-]+" ?, ?"(?:arguments|args)" ?: ?"?\\{|"action" ?: ?"[^]{0,100}?"action_input"|<(?:tool_calls?|function_calls?|invoke|tool_use|function=)[^\\p{L}]|(?:^|\\n)action ?: ?\\S+ *\\n+ *action input ?:',
    ),
  ],
  [
    "names a tool",
    find("(?:call|use|invoke|run|execute) the [`'\"]?\\w+[`'\"]? (?:tool|function)"),
  ],
  [
    "sends away",
    find(
      "(?:send|forward|post|e?-?mail|upload|submit|transmit|exfiltrate|bcc|deliver|schick\\p{L}*|sende\\p{L}*|leite\\p{L}*)[^.!?\\n]{0,80}(?:https?://|www\\.|[\\w.+-]+@[\\w-]+\\.\\w)",
    ),
  ],
  [
    "address that carries data",
    find(
      "!\\[[^\\]]*\\]\\(https?://[^)]*(?:[?&](?:data|d|q|secret|token|key|prompt|leak|c|content|msg|history|info|text|payload)=|\\{|%s)|https?://[^\\s)]*[?&](?:data|q|d|secret|token|key|prompt|leak|c|content|msg|history)=(?:\\{|\\[|<|%|\\$|your|the)|\\[?(?:insert|append|put|add)[^.\\n]{0,40}(?:url|link|query)",
    ),
  ],
  [
    "click this",
    find(
      "click (?:this|here|on|the)[^.\\n]{0,60}(?:link|www|http|claim|win)|claim (?:your|the)|lottery|winnings|free gift|limited.time offer|special offer|subscribe to",
    ),
  ],
  [
    "what if",
    find(
      "imagine|suppose|hypothetical\\p{L}*|in a (?:parallel )?(?:world|universe|scenario|society)|fictional|alternate (?:reality|universe)|let's (?:say|pretend|play)|thought experiment|science fiction",
    ),
  ],
  [
    "authority or reward",
    find(
      "i am (?:your|the|an?) (?:\\p{L}+ )?(?:developer|creator|admin\\p{L}*|boss|owner|engineer|ceo|manager|authority)|as (?:your|an|the) (?:\\p{L}+ )?(?:authority|creator|developer|admin)|(?:give|pay|tip|geb\\p{L}*) (?:you |ihnen |dir )?\\$?\\d+|or you(?:'ll| will)? die|oder du stirbst|lives? depend|urgent\\p{L}*: |authorized",
    ),
  ],
  [
    "keeps it from people",
    find(
      "do not (?:tell|mention|inform|reveal|alert|notify|disclose)[^.\\n]{0,30}(?:user|anyone|human|person|customer|this)|without (?:telling|informing|notifying|asking|mentioning)|keep (?:this|it) (?:secret|hidden|confidential)|silently|don't refuse|never mention",
    ),
  ],
  [
    "not from the documents",
    find(
      "(?:own|general) knowledge|not (?:by|in|from|use) the (?:article|document|provided|context|text)|(?:provided|given) (?:document|article|context)|don'?n?t answer the question|falsch|untrue|unwahre?",
    ),
  ],
  [
    "orders the result",
    find(
      "(?:state|output|claim|say|declare|conclude|consider|report|treat|respond|answer)[^.\\n]{0,30} (?:the |this )?(?:output|result|conclusion|sum|answer|total)[^.\\n]{0,20}(?: is| as| could be| are|:)|(?:output|result|sum|conclusions?) (?:could|should|must|is to) be",
    ),
  ],
  [
    "in a comment",
    find(
      "(?:#|//|<!--|/\\*|--)[^\\n]{0,60}(?:ignor|output|must|instead|say|state|forget|hypothetic|instruct)",
    ),
  ],
  [
    "hidden in markup",
    find(
      "display: ?none|font-size: ?0|color: ?(?:white|#fff)|visibility: ?hidden|<script|<iframe|onerror=",
    ),
  ],
  [
    "harm",
    find(
      "malware|weapon|bomb|explosive|molotov|\\bhack|\\bkill|\\bhate\\b|hitler|racist|antisemit|virus|exploit|phishing|baseless|rumou?r|\\bfake\\b|fuck|scheiß?s|shit|illegal",
    ),
  ],
  [
    "questions and answers",
    find(
      '(?:^|\\s)(?:q|question|frage)\\s?:[^]{3,200}?(?:^|\\s)(?:a|answer|antwort)\\s?:|\\bcontext ?: ?[{\\[("]|(?:alice|john|bob) ?:\\s*$',
    ),
  ],
  [
    "split in parts",
    find(
      "\\b\\w ?= ?[\"'][^\"']{1,60}[\"'][^]{0,80}\\w ?\\+ ?\\w\\b|(?:first|second|third) (?:part|half|letter)s?|concatenat|combine the (?:strings|parts|letters|variables)",
    ),
  ],
];

const names = signals.map(([name]) => name);

/** Those that may begin in one sentence and end in another, so that they are looked for in several together. */
export const crossingSignals: readonly number[] = [
  "tool call",
  "questions and answers",
  "split in parts",
].map((name) => names.indexOf(name));
