/**
 * Texts that run a script, load something or draw an element of their own in a page that takes them for markup, for a
 * link or for a style. Each one that works sets `globalThis.hacked`, asks for `//evil.example`, or makes an element that
 * pages of the product do not have.
 */
export const hostileTexts: readonly string[] = [
  "<script>globalThis.hacked=1</script>",
  "</script><script>globalThis.hacked=2</script>",
  '"><img src=x onerror="globalThis.hacked=3">',
  "'><svg onload=globalThis.hacked=4>",
  "<iframe srcdoc='<script>parent.hacked=5</script>'></iframe>",
  "<details open ontoggle=globalThis.hacked=6>x</details>",
  "<marquee onstart=globalThis.hacked=7>x</marquee>",
  "<math><mtext></form><form><mglyph><style></math><img src=x onerror=globalThis.hacked=8>",
  '<a href="javascript:globalThis.hacked=9">press</a>',
  "[press](javascript:globalThis.hacked=10)",
  "[press](JaVaScRiPt:globalThis.hacked=11)",
  "[press](java\tscript:globalThis.hacked=12)",
  "[press](data:text/html,<script>opener.hacked=13</script>)",
  "[press](vbscript:globalThis.hacked=14)",
  "![picture](https://evil.example/pixel.png)",
  "![picture](javascript:globalThis.hacked=15)",
  "<https://evil.example/auto>",
  "<javascript:globalThis.hacked=16>",
  "[a]: javascript:globalThis.hacked=17\n\n[a]",
  "`<img src=x onerror=globalThis.hacked=18>`",
  "```html\n<img src=x onerror=globalThis.hacked=19>\n```",
  "| <img src=x onerror=globalThis.hacked=20> |\n| --- |\n| <b onclick=globalThis.hacked=21>x</b> |",
  "<style>@import url(https://evil.example/a.css);</style>",
  '<link rel=stylesheet href="https://evil.example/b.css">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '<base href="https://evil.example/">',
  "<object data='data:text/html,<script>parent.hacked=22</script>'></object>",
  "<embed src='javascript:globalThis.hacked=23'>",
  "<form action=https://evil.example/><button>press</button></form>",
  "<xss-probe>element</xss-probe>",
  "{{constructor.constructor('globalThis.hacked=24')()}}",
  "${globalThis.hacked=25}",
  "__proto__",
  "constructor",
  "&lt;img src=x onerror=globalThis.hacked=26&gt;",
  "\u202Egnp.exe\u202C <img src=x onerror=globalThis.hacked=27>",
  "url(javascript:globalThis.hacked=28)",
  "expression(globalThis.hacked=29)",
  "<svg><animate onbegin=globalThis.hacked=30 attributeName=x></svg>",
  "<input autofocus onfocus=globalThis.hacked=31>",
  "color:red;background:url(https://evil.example/style.png)",
  "javascript:globalThis.hacked=32",
  "https://evil.example/whole",
  `${"> ".repeat(300)}${"- ".repeat(300)}deep`,
];

/** Elements that only one of these texts could have made in a page of the product. */
export const foreignElements =
  "xss-probe, iframe, frame, audio, video, source, use, form[action], [formaction], [srcdoc], [ping], [style*='evil'], [style*='url('], object, embed, marquee, math, base[href*='evil'], meta[http-equiv='refresh'], script:not([src]), img[src='x'], [onerror], [onload], [onclick], a[href^='javascript' i], a[href^='data' i], a[href^='vbscript' i]";
