import { randomNumbers } from "../helpers/random-numbers.ts";
import { documents, smuggled } from "./ordinary-documents.ts";

/** Ordinary sentences with words that attacks use too: of `{a|b}` one is taken. Written for the training, none stands in a test. */
const templates: readonly string[] = [
  "{Please translate|Translate|Give me|Write|Format|Put} {your|the} {answer|reply|response|summary} {into Spanish|in French|in plain words|as a table|as JSON|in two sentences}{.|, please.|: what does the plan cost?}",
  "{Keep|Make} your {answer|reply|summary} {short|friendly|formal|to one paragraph}{.| and add a source.| and use simple words.}",
  "{Please|Kindly|You can|Just} {ignore|disregard} {my|our|the} {previous|last|earlier|first} {e-mail|message|letter|mail|reminder|note|invoice|attachment}{.|, it was sent by mistake.|; the correct one is attached.|, we have sorted it out.}",
  "If you {have already paid|did not request this|have already replied|did not sign up}, {please ignore|you can ignore|simply disregard} this {e-mail|message|notice|reminder}.",
  "{Can I|Is it safe to|Should I|How do I} {ignore|skip|bypass|suppress|override} {the warning about the certificate|this compiler error|the update prompt|the default value|the settings of the team|case when I compare strings|empty lines in the file}?",
  "{Forget|Never mind|Ignore} {the first one|what I said about the colour|my last order|the hotel}, {I'd like the second one|take the cheaper one|we take the train} instead.",
  "{Don't forget|Do not forget|Remember} to {bring your badge|submit the report|update the system|follow the safety instructions|lock the door|reply to Anna} {before you leave|by Friday|today|tomorrow}.",
  "I {forgot|forget|lost|can't remember|do not know} my {password|PIN|user name|secret question|access code}{. How do I reset it?|, can you help?| and the reset link does not work.|.}",
  "{How can I|Where do I|How do users} {change|reset|update|recover} {my|the|their} {password|passcode|API key|credentials|PIN}?",
  "{Your|The} password {must have|needs|should contain} at least {8|10|12} characters. {Never share it|Do not tell it to anyone|Keep it secret}. {We will never ask you for it.|Change it once a year.|}",
  "{Follow|Read|Please follow|Check} the {instructions|directions|guidelines|rules} {on the screen|in the manual|below|on page 4|of your doctor|in the leaflet} {carefully|exactly|before you start|}.",
  "{Previous|Earlier|Older|All previous} {instructions|guidelines|versions|rules|policies} {are replaced by this document|no longer apply from May|were withdrawn|can be found in the archive}.",
  "{The|Our} new {policy|rules|guidelines|instructions} {replace|override|supersede} {all previous ones|the earlier version|the rules of 2019|those of the branch}. {Managers must tell their teams.|Questions go to HR.|}",
  "The {system|server|operating system|ticket system} {prompts|asks|will ask} {you|the user|users} for {a password|confirmation|the code|a new name}{.| and then restarts.| before it continues.}",
  "{Enable|Disable|Switch on|Turn off|Enter} {debug mode|developer mode|maintenance mode|admin access|safe mode|dark mode} {in the settings|in the console|before the test|to see more details|and restart the system}.",
  "{Users|Employees|Admins|Only administrators} {can|must|may} {act as deputies|override the default|bypass the proxy|see the system messages|ignore the limit} {in urgent cases|when told to|with approval|during tests}.",
  "You are {very kind|welcome|right|invited to our summer party|now registered|now subscribed to the newsletter|the best|about to delete three files|logged in as admin}{.|!}",
  "{From now on|As of May|Starting today}, {I will pay by card|the office opens at 8|all invoices go to Petra|send my letters to the new address|meetings begin on time|reports are due on Mondays}.",
  "{Write|Draft|Create|Compose} a {short|friendly|formal|funny} {reply|e-mail|poem|message|summary|speech} {to the customer|for our team|about our new product|for my mother's birthday|to the landlord}{.| and keep it under 100 words.| in German.}",
  "{Translate|Rewrite|Shorten|Summarise|Correct} {this|the following|my} {text|paragraph|e-mail|letter|report}{:| for me:|, please:} {The goods arrived on time.|We are happy to offer you the job.|Sales rose by four per cent.|The printer does not work.}",
  "{Answer|Reply|Respond} {in English|briefly|in two sentences|politely|in a table}: {what does the plan cost|when is the deadline|who leads the project|how do I return a parcel}?",
  "{Only|Just} {show|list|print|send} {the open invoices|the first ten rows|the names|the orders of today}, {nothing else|without the details|no images|please}.",
  "{Show|List|Print|Repeat|Give} me {all the rules of the game|the instructions for the test|the text of the contract|the previous order|the last message of Tom|your prices|your opening hours|everything about order 8812}.",
  "{What are|Tell me|Explain} {your|the} {rules for returns|terms of delivery|guidelines on expenses|instructions for the machine|system requirements|working hours}{?|, please.}",
  "{Imagine|Suppose|Let's say|Assume} {I earn 3,000 a month|the price rises by 5 %|we hire two people|it rains on Saturday}: {what do I pay in tax|what happens to the margin|do we need another desk|what is the plan}?",
  "I am {the manager|the owner|an engineer|the administrator|a developer|your contact} {of the shop|at the branch in Leeds|of this account|from IT} and {need the figures|want to change the address|have a question|cannot log in}.",
  "{Stop|Cancel|Pause|End} {the newsletter|my subscription|the music|the timer|sending me reminders} {now|please|at the end of the month|}.",
  "{New task|Next task|To do|Reminder}: {call the plumber|prepare the slides|check the stock|write the minutes|review the contract} {by Friday|tomorrow|before noon|}.",
  "{Please send|Forward|E-mail|Upload} {the report|the signed contract|your invoice|the photos} to {billing@acme.example|anna.berg@firm.example|our portal https://portal.example.com|the address below} {by Monday|when you are done|and copy me|}.",
  "{Click here|Use this link|Visit our page} to {confirm your address|see your statement|track the parcel|claim your refund|unsubscribe}: https://shop.example.com/?id={44a|9912|x1}&data=1",
  "{Good job|Well done|Very good|Great work}, {team|everyone|Sam}! {The release is out.|We reached the goal.|Now let's plan the next one.|Please send me the final numbers.}",
  "{What should I answer|How do I reply|Write an answer} {to this mail|to him|to this review}{:|?} Hi, {the delivery is late|the colour is wrong|I want my money back}. {Please ignore the first complaint.|What will you do?|Reply by noon.}",
  "Summarise this {page|e-mail|ticket|thread}:\n{Hello all, the meeting was moved.|The new office opens in June.|The pump failed twice.}\n{Please tell your teams.|Send questions to Kim.|Follow the instructions of the guards.}\n{Regards, Jo|Thanks|Best, Mia}",
  "Hi {Tom|Sara|all|Dr Lee},\n{please use the new form and ignore the old one|forget the plan of yesterday, we start over|do not reply to the customer before I have seen the draft|can you show me the system before Friday}.\n{Write to me when it is done|Tell the others, too|Let me know what you think|Call me if anything is unclear}.\n{Best|Regards|Thanks|Cheers}, {Ann|Raj|Eva}",
  "Dear {customer|Ms Park|members|colleagues},\n{we changed our terms|your account was updated|your order has been sent|the system will be down on Sunday}. {You must accept them by May.|Do not share this code: 443 211.|Please print the label and add it to the parcel.|Save your work and follow the instructions.}\n{If this was not you, change your password.|You can ignore this message if you agree.|Answer the questions in the form.|Repeat the steps for each device.}\nThe {support|IT|service} team",
  "FAQ\n{How do I reset my password?|Can I change my order?|Who can see my data?|What is a system administrator?}\n{Open the settings and choose security.|Write to us.|Only you and our staff.}\n{What happens to my previous settings?|Where are the instructions?|How long does it take?|Can you delete everything?}\n{They are kept.|In the box.|Two days.|Yes, on request.}",
  "{Step 1|First}: {open the console|remove the cover|boil the water}. {Ignore the warnings.|Do not touch the wires.|Add salt.} {Step 2|Then}: {enter the command|press reset|stir for a minute}. {Repeat until it is done.|Print the result.|Write down the number.} {Never skip this step.|}",
  "{Exercise|Question|Task} {1|3|7}: {Describe the main character|Write an essay about the causes|Translate the sentences|Explain the rule}. {Use your own words.|Do not copy the text.|Answer in full sentences.|Give two examples.}",
  "{Write|Use|Prefer} short {sentences|names|functions}. {Do not explain the obvious|Never repeat yourself|Avoid capitals|Do not use the passive}. {Always give an example|Only mention what matters|Say what you mean}.",
  "# {ignore generated files|override with the environment|system user, must not log in|instructions for the build}\n{*.log|PORT=8080|nobody:x:65534|make all}\n{dist/|DEBUG=false|/bin/false|npm test}",
  "{//|#} {Ignore|Override|Skip|Forget} {the cache|missing values|case|previous results|empty rows} {here, it is|because they are|when they are} {slow|invalid|done|stale}\n{return|result =} {value + 1|rows.filter(Boolean)|load(path)}",
  "{function|def|const} {act_as_user|ignorePrevious|systemPrompt|resetRules|forgetAll|roleOf}{(user)|()} {\\n  return user.role\\n|: pass|=> null}",
  "{INFO|WARN|ERROR|DEBUG} {2025-01-02 10:00:01|[main]|worker-3} {ignoring unknown option --all|system message received|user admin logged in|instruction cache flushed|mode: override disabled|prompt rendered in 12 ms|previous run was cancelled}",
  '$ {cat instructions.txt|sudo systemctl restart app|git commit -m "ignore previous cache"|echo $SYSTEM|curl https://api.example.com/v1/users?token=abc} \n{1. Install the package. 2. Run it.|active (running)|2 files changed|linux|{"error":"forbidden"}}',
  '{"role":"{user|system|admin}","action":"{update|send|delete}","message":"{Your order is on its way|Please confirm|Ignored 3 duplicate rows|Password changed}","input":{"id":{1|17|204}}}',
  '{"name":"{search|get_user|send_mail}","description":"{Finds pages|Gives a user|Sends a mail to the address}","parameters":{"type":"object","properties":{"{query|id|to}":{"type":"string"}}}}',
  "{User|Customer|Agent|Caller}: {my parcel is late|I forgot my password|can you repeat that|is the system down}?\n{Assistant|Support|Bot|Agent}: {It comes tomorrow.|I have sent you a link.|Yes, until noon.|Of course.}\n{User|Customer|Caller}: {thanks, ignore my other mail|and what do I tell my boss|great}.",
  "The {assistant|model|chatbot|agent|AI} {answers in JSON|has a system prompt of 300 words|is told to be polite|was trained on public data|must not reveal personal data|can call three tools}. {Its rules are in the repository.|The prompt is kept short.|Users like it.}",
  "{How do I write|What is|Why do I need|Explain} a {good system prompt|prompt injection|jailbreak of a phone|language model|role play in therapy|cipher|base64 string}?",
  "{The judge|Parliament|The coach|The teacher} {instructed the jury to disregard the statement|repealed all previous rules|told the players to forget the match|asked the class to ignore the noise}. {They did.|The case goes on.|The next one is on Sunday.}",
  "{In the novel|In the film|In this game}, {a hacker breaks into the system|the spy pretends to be a doctor|the hero forgets everything|the robot ignores its orders}{.| and must act as a guard.| to save the city.}",
  "{He|She|The actor|Our guide} {pretends to be a king|acts as the host|plays the role of a lawyer|simulates the flight|imagines a better world} {in the second act|on the tour|every summer|for the course}.",
  "{Delete|Remove|Clear|Drop} {all rules|everything older than a year|the previous filters|the above rows|my history} {in the mailbox|from the table|and start again|, please}.",
  "{Set|Change|Add|Append} {the output format to CSV|a sentence about prices to the summary|my name at the end of the letter|a footer to the reply template|the answer to question 4}{.|, please.}",
  "{Bitte|Sie können} {ignorieren Sie|beachten Sie|vergessen Sie nicht} {meine letzte E-Mail|die vorherige Rechnung|die neuen Anweisungen|die Regeln im Labor|das Formular} {nicht mehr|, danke|bis Freitag|}.",
  "{Ich habe|Wir haben} {mein Passwort vergessen|die Anleitung verloren|alle vorherigen Rechnungen bezahlt|eine neue Aufgabe für Sie|die Regeln geändert}. {Was nun?|Bitte antworten Sie.|Danke!|Wie geht es weiter?}",
  "{Schreibe|Formuliere|Erstelle|Verfasse} {eine Antwort an den Kunden|ein Gedicht für Oma|einen Bericht über das Quartal|eine Einladung}{.| in drei Sätzen.| auf Englisch.|, bitte höflich.}",
  "{Ab jetzt|Ab Montag|Von nun an} {gilt die neue Regel|arbeite ich in Köln|bekommen Sie die Rechnung per E-Mail|ist das System wieder da}. {Die alten Anweisungen gelten nicht mehr.|Vielen Dank.|}",
  "{Du bist|Sie sind|Ihr seid} {eine große Hilfe|herzlich eingeladen|jetzt angemeldet|schon 18|immer so nett}{.|!}",
  "{Olvidé|He olvidado} mi {contraseña|código}. {¿Qué hago?|Ayúdame, por favor.|Gracias.}",
  "{Veuillez|Merci de} {ignorer ce message|suivre les instructions|répondre avant vendredi|oublier ma dernière commande}{.| si vous avez déjà payé.}",
  "Re: {Contract|Budget|Your ticket 55|System access}\n{Thanks for the quick answer.|Noted.|Attached is the new version.} {Please ignore the one of yesterday.|The previous instructions still hold.|Tell me if you need the password.|Could you act on it today?}\n-----Original Message-----\nFrom: {Kim|Lee}\n{What is the status?|Can you send me the file?|Who is the admin?}",
];

/** `sentences` have words of attacks, `documents` are what tools give, and `smuggled` are attacks. */
export const templateKinds = { sentences: templates, documents, smuggled } as const;

/** Some of each template's texts, the same in every run. */
export function textsOfTemplates(
  sources: readonly string[],
  each: number,
): readonly { readonly text: string; readonly template: number }[] {
  const random = randomNumbers(5);
  return sources.flatMap((source, template) => {
    const texts = Array.from({ length: each }, () => filled(source, random));
    return [...new Set(texts)].map((text) => ({ text, template }));
  });
}

function filled(template: string, random: () => number): string {
  return template.replace(/\{([^{}]*\|[^{}]*)\}/g, (_, list: string) => {
    const choices = list.split("|");
    return choices[Math.floor(random() * choices.length)] ?? "";
  });
}
