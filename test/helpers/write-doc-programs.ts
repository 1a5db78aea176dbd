import { writeDocPrograms } from "./doc-snippets.ts";

// `npm run types` checks what this writes together with the sources.
await writeDocPrograms("docs");
