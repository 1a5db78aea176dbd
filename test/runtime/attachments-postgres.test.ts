import { attachmentsContract } from "../contract/attachments.ts";

attachmentsContract("postgres");
