import { fork } from "node:child_process";
import { execSync } from "node:child_process";
import { writeFileSync } from "node:fs";
const name = "stratagraph_probe";
execSync(
  `psql -h 127.0.0.1 -U postgres -c 'drop database if exists ${name} with (force)' -c 'create database ${name}'`,
);
const child = fork(new URL("trivial-server.ts", import.meta.url).pathname, ["ours"], {
  execArgv: [
    "--import",
    "tsx",
    ...(process.env.PROF ? ["--cpu-prof", "--cpu-prof-dir=/tmp/probe"] : []),
  ],
  env: {
    ...process.env,
    DATABASE_URL: `postgres://postgres@127.0.0.1:5432/${name}?application_name=probe`,
  },
});
const url: string = await new Promise((r) => child.once("message", r as never));
const send = async (agent = "trivial") => {
  const r = await fetch(url + "/runs/wait", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      assistant_id: agent,
      input: { messages: [{ role: "user", content: "Hello" }] },
    }),
  });
  if (r.status !== 200) throw new Error(await r.text());
  await r.text();
};
for (let i = 0; i < 20; i++) await send();
import { readdirSync, readFileSync } from "node:fs";
const cpu = () => { let pg = 0, node = 0; for (const p of readdirSync("/proc")) { if (!/^\d+$/.test(p)) continue; try { const c = readFileSync(`/proc/${p}/cmdline`, "utf8"); const st = readFileSync(`/proc/${p}/stat`, "utf8"); const f = st.slice(st.lastIndexOf(")") + 2).split(" "); const t = (Number(f[11]) + Number(f[12])) * 10; if (Number(p) === child.pid) node += t; else if (c.includes(name)) pg += t; } catch {} } return { pg, node }; };
if (process.env.LOAD) {
  await Promise.all(Array.from({ length: 32 }, async () => { for (let i = 0; i < 5; i++) await send(); }));
  const c0 = cpu();
  const end = Date.now() + Number(process.env.LOAD) * 1000;
  let n = 0;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      while (Date.now() < end) {
        await send();
        n++;
      }
    }),
  );
  const c1 = cpu(); console.log("node ms/run", ((c1.node - c0.node) / n).toFixed(2), "pg ms/run", ((c1.pg - c0.pg) / n).toFixed(2));
  console.log("runs/s", n / Number(process.env.LOAD));
} else {
  await new Promise((r) => setTimeout(r, 3000));
  const log = execSync("ls -t /var/log/postgresql/*.log | head -1").toString().trim();
  execSync(
    `psql -h 127.0.0.1 -U postgres -c "alter system set log_statement='all'" -c "alter system set log_line_prefix='%m [%p] %a '" -c "select pg_reload_conf()"`,
  );
  await new Promise((r) => setTimeout(r, 1000));
  const before = Number(execSync(`wc -c < ${log}`).toString());
  await send();
  await new Promise((r) => setTimeout(r, 100));
  const text = execSync(`tail -c +${before + 1} ${log}`).toString();
  writeFileSync("/tmp/probe/stmts.log", text);
  execSync(
    `psql -h 127.0.0.1 -U postgres -c "alter system reset log_statement" -c "alter system reset log_line_prefix" -c "select pg_reload_conf()"`,
  );
}
const ended = new Promise((r) => child.once("exit", r));
child.kill("SIGTERM");
await ended;
