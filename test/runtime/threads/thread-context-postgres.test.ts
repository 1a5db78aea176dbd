import { threadContextContract } from "../../contract/thread-context.ts";

threadContextContract("postgres");
