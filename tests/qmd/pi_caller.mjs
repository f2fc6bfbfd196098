// Does what PI does: runs `qmd` from PATH with a deadline, and reads record ids from what it prints.
// usage: node pi_caller.mjs DEADLINE_MS REPEAT < [[argv...], ...]   ->   one JSON row for each call
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";

const [deadline, repeat] = process.argv.slice(2).map(Number);

// PI's reading: one JSON object, `results` a list, first mem_ id in `path ?? id`; anything odd empties it all.
export function readIds(stdout) {
  try {
    const parsed = JSON.parse(stdout);
    return parsed.results
      .map((row) => (row.path ?? row.id).match(/\bmem_[A-Za-z0-9_]+\b/)?.[0])
      .filter(Boolean);
  } catch {
    return [];
  }
}

function call(argv) {
  return new Promise((resolve) => {
    const started = performance.now();
    execFile("qmd", argv, { timeout: deadline, encoding: "utf8" }, (error, stdout, stderr) => {
      const ms = performance.now() - started;
      resolve({ argv, ms, code: error ? (error.code ?? error.signal) : 0, stdout, stderr, ids: readIds(stdout) });
    });
  });
}

const input = JSON.parse(readFileSync(0, "utf8"));
if (input.stdouts) {
  console.log(JSON.stringify(input.stdouts.map(readIds)));
} else {
  const rows = [];
  for (let i = 0; i < repeat; i++) for (const argv of input.calls) rows.push(await call(argv));
  console.log(JSON.stringify(rows));
}
