// Runs attacks in a process of its own, so that a body of 600 MB does not delay the measurements. Takes one job at a
// time.
import { setMaxListeners } from "node:events";
import { createRandom } from "../../devnet/random.ts";
import { attacks } from "./attacks.ts";

/** What is sent to the process. */
export type AttackJob = { name: string; port: number; from: string; seed: number };

process.on("message", async ({ name, port, from, seed }: AttackJob) => {
  const attack = attacks.find((one) => one.name === name);
  if (attack === undefined) throw new Error(`Unknown attack ${name}.`);
  const ends = AbortSignal.timeout(attack.seconds * 1000);
  setMaxListeners(0, ends);
  await attack.run({ port, from, random: createRandom(seed), ends });
  process.send?.("done");
});
