// Has the command line of a running process (test/helpers/command-line-server.ts) run a command: the socket, then arguments.
import { connect } from "node:net";
import { text } from "node:stream/consumers";

const [socket = "", ...argv] = process.argv.slice(2);
const stdin = argv.includes("-") ? await text(process.stdin) : "";
const connection = connect(socket);
connection.end(JSON.stringify({ argv, env: process.env, stdin }));
const { stdout, stderr, code } = JSON.parse(await text(connection));
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
