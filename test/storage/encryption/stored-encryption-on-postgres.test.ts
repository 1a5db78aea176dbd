import { storedEncryption } from "../../contract/stored-encryption.ts";

storedEncryption("postgres");
