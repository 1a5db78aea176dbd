/** With the `u` flag the range of surrogates finds only those without their other half. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const refused = /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ud800-\udfff]/gu;

/**
 * A text as every provider takes it: a lone surrogate becomes U+FFFD, a control character other than line feed and tab
 * its visible escape (`\u0000`), CRLF a line feed. A clean text is returned as it is. Takes linear time.
 */
export function cleanText(text: string): string {
  return text.search(refused) < 0 ? text : text.replace(refused, harmless);
}

function harmless(found: string): string {
  if (found === "\r\n") return "\n";
  const code = found.charCodeAt(0);
  return code >= 0xd800 ? "\ufffd" : `\\u${code.toString(16).padStart(4, "0")}`;
}
