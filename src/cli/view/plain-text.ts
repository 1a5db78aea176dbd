/**
 * Escape sequences of terminals (ECMA-48): control sequences, operating system commands such as links, and single
 * characters after an escape. Parts that follow each other share no character, so that matching takes linear time; that
 * of Node's `stripVTControlCharacters` grows with the square of a run such as `;#`. Words after a command are not taken
 * out: nothing that a person has to read may hide in one.
 */
const escapeSequences =
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]|\u001B\][\w;#&.:=?%@~/-]*(?:[\u0007\u009C]|\u001B\\)|\u001B[()#][ -~]|\u001B[\dA-OR-TZcf-ntqry=><~]/g;
/** Directional embeddings, overrides and isolates, which make a line read otherwise than it is. */
const directions = /[\u202A-\u202E\u2066-\u2069]/g;
/** Everything that acts instead of being shown, other than tab and line feed, and halves of surrogate pairs. */
const controls = /[\p{Cc}\p{Cs}\u2028\u2029\uFEFF]/gu;
const deleteCode = 0x7f;
const firstControlPicture = 0x2400;
const deletePicture = "\u2421";

/**
 * A text from a model, a tool or a file, made safe to print: terminal escape sequences are taken out, every other
 * control character is shown as its picture, and tabs become spaces. Line feeds stay.
 */
export function plainText(text: string): string {
  return visibleText(text.replace(escapeSequences, ""));
}

/** The same with nothing taken out: the characters of escape sequences are shown, none of which acts. */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(directions, "\uFFFD")
    .replaceAll("\t", "    ")
    .replace(controls, (control) => (control === "\n" ? control : pictureOf(control)));
}

/** The same on one line, with every run of white space as one space. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

function pictureOf(control: string): string {
  const code = control.charCodeAt(0);
  if (code === deleteCode) return deletePicture;
  return code < 0x20 ? String.fromCharCode(firstControlPicture + code) : "\uFFFD";
}
