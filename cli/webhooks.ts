import { randomUUID } from "node:crypto";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { Hook } from "../src/config/webhooks-file.ts";
import { type HookState, openPositions, type Positions } from "../src/feed/webhooks/positions.ts";
import { post } from "../src/feed/webhooks/post.ts";
import { placeOfReminder } from "../src/feed/webhooks/reminders.ts";
import { derivePublicKey } from "../src/feed/webhooks/signature.ts";
import { formatSpan } from "../src/log/json-log.ts";
import { createProgram, loadConfig, print, runProgram } from "./command.ts";
import { withDatabase } from "./database.ts";
import { PreflightError } from "./refusal.ts";

/** `npm run webhooks`. */
const webhooks = createProgram("webhooks", "The hooks of WEBHOOKS_FILE and their positions.");

webhooks
  .command("list")
  .description("Shows each hook: URL, pending messages and the reason, and the public key of its signatures.")
  .action(() => print(withStates((positions, hooks) => describeHooks(positions, hooks, Date.now()))));

webhooks
  .command("test <hook>")
  .description("Sends one message `test`, signed, to a hook now. Its position stays.")
  .action((name) => print(sendTest(requireHook(loadConfig().webhooks, name))));

webhooks
  .command("replay <hook>")
  .description("Resumes a hook after a message id that the receiver has.")
  .requiredOption("--from <id>", "id of a message, or start or latest", parsePlace)
  .action((name, { from: place }) => print(change(name, replayFrom(place))));

webhooks
  .command("pause <hook>")
  .description("Pauses a hook until it is resumed.")
  .action((name) => print(change(name, pauseAt(Date.now()))));

webhooks
  .command("resume <hook>")
  .description("Resumes a paused hook; one that waits for its next attempt retries now.")
  .action((name) => print(change(name, resume)));

type Change = (state: HookState) => HookState;

/** The state of a hook that goes on from a place in the feed. */
export const replayFrom =
  (place: Partial<HookState>): Change =>
  ({ position, from, reminders, paused }) => ({ position, from, reminders, failures: 0, paused, ...place });

/** The state of a hook that is paused since a time in Unix milliseconds. */
export const pauseAt =
  (at: number): Change =>
  (state) => ({ ...state, paused: { at, reason: "npm run webhooks" } });

/** The state of a hook that is no longer paused and tries again now. */
export const resume: Change = ({ paused: _, nextAt: __, ...state }) => ({ ...state, failures: 0 });

/** What an argument `--from` says of the place of a hook. Throws an InvalidArgumentError. */
export function parsePlace(text: string): Partial<HookState> {
  const reminders = placeOfReminder(text);
  if (reminders !== undefined) return { reminders };
  if (text === "start" || text === "latest") return { position: undefined, from: text };
  if (/^[\w=+/:.-]{1,500}$/.test(text)) return { position: text, from: "latest" };
  throw new InvalidArgumentError("Expected the id of a message, start or latest.");
}

/** A hook and its state as text; `now` in Unix milliseconds. */
export function describeHook({ name, url, privateKey }: Hook, state: HookState, now: number): string {
  const { paused, behindSince, failures, fault, nextAt = now, position, from, reminders } = state;
  const span = (milliseconds: number) => formatSpan(milliseconds / 1_000);
  const next = `the next is ${nextAt > now ? `in ${span(nextAt - now)}` : "now"}`;
  return [
    // A path may be a key of the receiver.
    `${name}, ${new URL(url).origin}, ${position === undefined ? `from ${from}` : `behind ${position}`}`,
    reminders && `  reminders up to ${new Date(Number(reminders[0]) * 1_000).toISOString()}`,
    paused && `  paused ${span(now - paused.at)} ago: ${paused.reason}`,
    behindSince !== undefined && `  messages wait for ${span(now - behindSince)}`,
    !paused && failures > 0 && `  ${failures} attempts failed, the last one because ${fault}; ${next}`,
    privateKey !== undefined && `  public key ${derivePublicKey(privateKey)}`,
  ]
    .filter(Boolean)
    .join("\n");
}

/** Hooks and their stored states as text. */
export async function describeHooks(
  positions: Positions,
  hooks: readonly Hook[],
  now: number,
): Promise<string> {
  const texts: string[] = [];
  for (const hook of hooks) texts.push(describeHook(hook, (await positions.read(hook.name)).state, now));
  return texts.join("\n") || "WEBHOOKS_FILE has no hook.";
}

/** Sends one message `test` to a hook; returns what to print. Throws a PreflightError if the hook does not take it. */
export async function sendTest(hook: Hook): Promise<string> {
  const id = `msg_${randomUUID()}`;
  const body = JSON.stringify([{ id, event: "test", data: {} }]);
  const fault = await post(hook, { id, body }, { at: new Date(), signal: AbortSignal.timeout(15_000) });
  if (fault !== undefined) throw new PreflightError(`${hook.name}: ${fault}.`);
  return `${hook.name} received ${id}.`;
}

/** Changes the stored state of a hook, also while its deliverer saves it; returns the hook as text. */
export async function changeHook(positions: Positions, hook: Hook, to: Change): Promise<string> {
  for (;;) {
    const stored = await positions.read(hook.name);
    const saved = await positions.save(hook.name, stored, to(stored.state));
    if (saved) return describeHook(hook, saved.state, Date.now());
  }
}

const change = (name: string, to: Change) =>
  withStates((positions, hooks) => changeHook(positions, requireHook(hooks, name), to));

function withStates(
  work: (positions: Positions, hooks: readonly Hook[]) => Promise<string>,
): Promise<string> {
  const config = loadConfig();
  return withDatabase(config, async (run) => {
    const positions = openPositions(run, config.namespace);
    await positions.prepare(config.webhooks);
    return work(positions, config.webhooks);
  });
}

/** The hook of this name. Throws a PreflightError that lists all names. */
export function requireHook(hooks: readonly Hook[], name: string): Hook {
  const found = hooks.find((hook) => hook.name === name);
  if (found !== undefined) return found;
  const known = hooks.map((hook) => hook.name).join(", ") || "none";
  throw new PreflightError(`WEBHOOKS_FILE has no hook ${JSON.stringify(name)}. There are: ${known}.`);
}

await runProgram(webhooks, import.meta.url);
