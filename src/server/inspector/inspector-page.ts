import { packageFolder } from "../../own-package.ts";
import { fileAnswer, pageFile, type PageFile, readPageFiles } from "./page-files.ts";

/** Where the build puts the page. */
const builtPage = new URL("dist/inspector/", packageFolder());

/** The page loads what it was built of, and talks to its own server only. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const pageHeaders = {
  "Content-Security-Policy": policy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
  "X-Frame-Options": "DENY",
};

/** Shown where the page was not built: in a checkout of the sources. */
const notBuilt = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Stratagraph</title>
<h1>The inspector is not built</h1>
<p>Run <code>npm run build:inspector</code>, then load this page again. The API works without it.</p></html>
`;

/** The inspector: one page for all paths below its own, and the files that it loads. */
export class InspectorPage {
  #files: ReadonlyMap<string, PageFile> | undefined;
  readonly #shells = new Map<string, PageFile>();

  /**
   * @param path where the page is, below where the app is mounted: one segment such as `/inspector`
   * @param folder where the built page is
   */
  constructor(
    readonly path: string,
    private readonly folder: URL = builtPage,
  ) {
    if (!/^\/[a-z][a-z0-9-]*$/.test(path))
      throw new TypeError(
        `The inspector's path must be one segment such as /inspector, not ${path}`,
      );
  }

  /** @param path without the prefix at which the app is mounted */
  owns(path: string): boolean {
    return path === this.path || path.startsWith(`${this.path}/`);
  }

  /** Answers a GET or HEAD request for a path of the page. */
  respond(request: Request): Response {
    const { pathname } = new URL(request.url);
    const at = pathname.indexOf(`${this.path}/`);
    if (at < 0) {
      const location = `${pathname.slice(pathname.lastIndexOf("/") + 1)}/`;
      return new Response(null, { status: 308, headers: { Location: location } });
    }
    const base = pathname.slice(0, at + this.path.length + 1);
    const name = pathname.slice(base.length);
    const files = this.#read();
    const file = files.get(name);
    if (file !== undefined && name !== "index.html")
      return fileAnswer(request, file, {
        // The names of assets have a hash of their content.
        "Cache-Control": name.startsWith("assets/")
          ? "public, max-age=31536000, immutable"
          : "no-cache",
        ...(file.mediaType.startsWith("text/html") && pageHeaders),
      });
    // A file of another build: the page that asks for it must be loaded again.
    if (name.startsWith("assets/")) return new Response(null, { status: 404 });
    return fileAnswer(request, this.#shell(base), { "Cache-Control": "no-cache", ...pageHeaders });
  }

  /** Files are read again while the page is not there, so that a build needs no new start. */
  #read(): ReadonlyMap<string, PageFile> {
    if (this.#files === undefined || this.#files.size === 0)
      this.#files = readPageFiles(this.folder);
    return this.#files;
  }

  /** The page for a place where it is mounted, to which its links are relative. */
  #shell(base: string): PageFile {
    const shell = this.#read().get("index.html");
    if (shell === undefined) return pageFile(Buffer.from(notBuilt), "text/html; charset=utf-8");
    const known = this.#shells.get(base);
    if (known !== undefined) return known;
    const text = Buffer.from(shell.bytes).toString();
    const html = text.replace("<head>", () => `<head><base href="${escapedAttribute(base)}">`);
    const made = pageFile(Buffer.from(html), shell.mediaType);
    // Clients choose what stands before the path where a proxy passes any prefix on.
    if (this.#shells.size < 8) this.#shells.set(base, made);
    return made;
  }
}

function escapedAttribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
