// Memory for the pi coding agent: with each prompt, what the conversation does not hold yet.
// `pi-rank install pi` puts this file among pi's extensions and writes the command below into it;
// `pi-rank uninstall pi` takes it away again. As it is shipped it asks the pi-rank that is on PATH.
import { spawn } from "node:child_process";

const COMMAND = ["pi-rank"];
const OPTIONS = [];
const KIND = "pi-persistent-intelligence-context";
const LIMIT_MS = Number(OPTIONS[1] ?? 800) + 700; // pi waits without end; the hook itself stops earlier

/** One answer of `pi-rank hook pi`; undefined where there is nothing to add, whatever the reason. */
function ask(event, cwd) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", "pi", ...OPTIONS], {
      cwd,
      stdio: ["pipe", "pipe", "ignore"],
    });
    const chunks = []; // joined as bytes: a character may be cut in two
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      resolve(undefined); // not when its pipes close: a process that it started may hold them
    }, LIMIT_MS);
    const done = (value) => (clearTimeout(timer), resolve(value));
    child.stdout.on("data", (chunk) => chunks.push(chunk));
    child.stdin.on("error", () => {});
    child.on("error", () => done(undefined));
    child.on("close", () => {
      try {
        done(JSON.parse(Buffer.concat(chunks).toString("utf8")));
      } catch {
        done(undefined);
      }
    });
    child.stdin.end(JSON.stringify(event));
  });
}

/** Our messages of this branch that the model still reads: none from before what a compaction kept. */
function held(ctx) {
  const branch = ctx.sessionManager.getBranch();
  const last = branch.findLastIndex((entry) => entry.type === "compaction");
  let first = last < 0 ? 0 : branch.findIndex((entry) => entry.id === branch[last].firstKeptEntryId);
  if (first < 0) first = last;
  return branch.slice(first).filter((entry) => entry.type === "custom_message" && entry.customType === KIND);
}

function textOf(entry) {
  if (typeof entry.content === "string") return entry.content;
  return (entry.content ?? []).map((part) => part.text ?? "").join("\n");
}

/** The last line of the terminal: how much memory this conversation holds. */
function showStatus(ctx) {
  if (!ctx.hasUI) return;
  const entries = held(ctx);
  const records = new Set(entries.flatMap((entry) => Object.keys(entry.details?.why ?? {})));
  const withdrawn = entries.flatMap((entry) => entry.details?.withdrawn ?? []);
  for (const id of withdrawn) records.delete(id);
  const taken = withdrawn.length ? `, ${withdrawn.length} withdrawn` : "";
  ctx.ui.setStatus("pi-rank", entries.length ? `memory: ${records.size} records${taken}` : undefined);
}

/** What `/memory` says: each block of the conversation, its records, and why each is there. */
function report(ctx) {
  const entries = held(ctx);
  if (!entries.length) return "No memory was recalled in this conversation yet.";
  return entries
    .map((entry, at) => {
      const { why = {}, withdrawn = [], bytes = 0 } = entry.details ?? {};
      const lines = Object.entries(why).map(([id, reason]) => `  ${id}: ${reason}`);
      return [
        `${at + 1}. ${bytes} bytes, ${lines.length} records`,
        ...lines,
        ...withdrawn.map((id) => `  ${id}: withdrawn`),
      ].join("\n");
    })
    .join("\n");
}

export default function (pi) {
  pi.on("session_start", async (_event, ctx) => {
    showStatus(ctx);
    void ask({ hook_event_name: "session_start", cwd: ctx.cwd }, ctx.cwd); // so that the first prompt finds it warm
  });

  pi.on("before_agent_start", async (event, ctx) => {
    // newer pi also fires this for runs that an extension starts: they have no prompt
    if (typeof event.prompt !== "string" || !event.prompt.trim()) return undefined;
    try {
      const blocks = held(ctx).map(textOf);
      const asked = { hook_event_name: "before_agent_start", prompt: event.prompt, cwd: ctx.cwd, blocks };
      const message = await ask(asked, ctx.cwd);
      return message ? { message } : undefined;
    } catch {
      return undefined; // memory that fails never stops a turn
    }
  });

  pi.on("agent_end", async (_event, ctx) => showStatus(ctx));

  pi.registerCommand("memory", {
    description: "What pi-rank recalled in this conversation, and why",
    handler: async (_args, ctx) => ctx.ui.notify(report(ctx), "info"),
  });
}
