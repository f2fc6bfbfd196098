// Memory for opencode: with each prompt, what the conversation does not hold yet.
// `pi-rank install opencode` puts this file among opencode's plugins and writes the command below into it;
// `pi-rank uninstall opencode` takes it away again. As it is shipped it asks the pi-rank that is on PATH.
import { spawn } from "node:child_process";

const COMMAND = ["pi-rank"];
const OPTIONS = [];
const SOURCE = "pi-rank";
const LIMIT_MS = Number(OPTIONS[1] ?? 800) + 700; // opencode waits without end; the hook itself stops earlier

/** One answer of `pi-rank hook opencode`; undefined where there is nothing to add, whatever the reason. */
function ask(event, cwd) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", "opencode", ...OPTIONS], {
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

/** Our blocks that the model still reads: those since the last summary, oldest first. */
async function held(client, sessionID) {
  const { data } = await client.session.messages({ path: { id: sessionID } });
  const messages = data ?? [];
  const summary = messages.findLastIndex(({ info }) => info.role === "assistant" && info.summary === true);
  return messages
    .slice(summary + 1)
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === "text" && part.synthetic && part.metadata?.source === SOURCE)
    .map((part) => part.text);
}

export const PiRankMemory = async ({ client, directory }) => {
  void ask({ hook_event_name: "session.created", cwd: directory }, directory); // so that the first prompt finds it warm
  return {
    "chat.message": async (input, output) => {
      try {
        const own = output.parts.filter((part) => part.type === "text" && !part.synthetic);
        const prompt = own.map((part) => part.text).join("\n");
        if (!prompt.trim()) return;
        const blocks = await held(client, input.sessionID);
        const event = { hook_event_name: "chat.message", prompt, cwd: directory, blocks };
        const answer = await ask(event, directory);
        const last = output.parts.at(-1);
        if (!answer?.text || !last) return;
        output.parts.push({
          id: `${last.id}m`, // parts are read back in the order of their ids
          sessionID: output.message.sessionID,
          messageID: output.message.id,
          type: "text",
          text: answer.text,
          synthetic: true, // sent to the model, not shown to the user
          metadata: answer.metadata, // by which `held` knows it
        });
      } catch {
        return; // what is thrown here would end the turn
      }
    },
  };
};
