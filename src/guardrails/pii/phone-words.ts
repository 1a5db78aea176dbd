import { after, before } from "./surroundings.ts";

/** A label before the number: `Phone:`, `mobile is`. */
const label =
  /(?:^|[^\p{L}])(?:tele?phones?|phones?|tel|mobile|mob|cell(?:phone)?|fax|whats ?app|signal|sms|hotline|landline|desk|office|direct|telefon|telefono|teléfono|téléphone|portable|handy|handynummer|rufnummer|móvil|celular|cellulare|mobil|tlf|gsm)(?:[ .-]{0,2}(?:number|num|no|nr|nummer|#))?[^\p{L}\p{N}\n]{0,3}\n?(?: ?(?:is|are|was|at|on))?[^\p{L}\p{N}\n]{0,4}$/iu;
/** What one does with a phone: `call me on`, `answering at`, `messages to`. */
const verb =
  /(?:^|[^\p{L}])(?:call|calling|called|ring|text|texting|texted|dial|dialling|reach|reached|reachable|phone|contact|sms|messages?|answering|whats ?app|appele[zr]|appelle|erreichen|erreichbar|anrufen)(?:[ -](?:me|moi|mich|uns|us|him|her|them|back|directly|anytime|it|[\p{L}]{2,12})){0,2} (?:on|at|to|via|under|unter|au)[ :]{1,2}$/iu;
const dialled =
  /(?:^|[^\p{L}])(?:call|dial|ring|text|phone)(?: (?:me|us|him|her|them|the number))?[ :]{1,2}$/iu;
/** A label after the number: `…8211-Office`, `… fax`. */
const labelAfter =
  /^[ ,\-(/]{1,3}(?:office|fax|mobile|cell|home|desk|direct|phone|tel|whatsapp)\b/i;

/** Whether the words before a number call it a phone's. */
export function isCalledBefore(text: string, start: number): boolean {
  const words = before(text, start, 56);
  return label.test(words) || verb.test(words) || dialled.test(words);
}

/** Whether the word after a number calls it a phone's. */
export function isCalledAfter(text: string, end: number): boolean {
  return labelAfter.test(after(text, end, 16));
}
