import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Contracts } from "../../devnet/life/actions.ts";
import { createScenario } from "../../devnet/life/scenario.ts";
import { chainIds, recordingFolder } from "../../devnet/recorded-chains.ts";
import { readAddresses } from "../../devnet/recording.ts";
import { type EmittingChain, hasAnvil, startEmittingChain } from "../support/anvil.ts";
import { startWorld, type World } from "../support/world.ts";

// The same histories as on the devnet, in blocks, receipts and blooms of a real EVM.
describe.runIf(hasAnvil())("on a real EVM node", () => {
  const contracts = readAddresses(recordingFolder("root")) as Contracts;
  const scenario = createScenario({ contracts, seed: 7 });
  const now = () => Math.floor(Date.now() / 1000);
  let anvil: EmittingChain;
  let world: World;
  let fresh: World | undefined;
  beforeAll(async () => {
    anvil = await startEmittingChain(Number(chainIds.root), Object.values(contracts));
    for (let block = 0; block < 10; block++) await anvil.mine([register(`before${block}`)]);
    world = await startWorld({ rpcUrl: anvil.url });
    world.start();
    await world.waitForIndex({ block: await anvil.head() });
  });
  afterAll(async () => {
    await fresh?.close();
    await world?.close();
    await anvil?.close();
  });

  function register(label: string) {
    const [transaction] = scenario.registerName(now(), { label, owner: 1 });
    return transaction!.logs;
  }

  async function names(of: World): Promise<string[]> {
    const { registrations } = await of.query<{ registrations: { labelName: string }[] }>(
      "{ registrations(first: 1000, orderBy: labelName) { labelName } }",
    );
    return registrations.map(({ labelName }) => labelName);
  }

  test("a block is indexed", async () => {
    await anvil.mine([register("swift")]);
    await world.waitForIndex({ block: await anvil.head() });
    expect(await names(world)).toContain("swift");
  });

  test.each([1, 5, 20])(
    "a reorganisation of %i blocks leaves the names of the last branch",
    async (depth) => {
      const before = await names(world);
      for (let block = 0; block < depth; block++) await anvil.mine([register(`dropped${depth}x${block}`)]);
      await world.waitForIndex({ block: await anvil.head() });
      expect((await names(world)).length).toBe(before.length + depth);

      await anvil.goBack(depth);
      await anvil.mine([register(`kept${depth}`)]);
      for (let block = 0; block < depth; block++) await anvil.mine();
      await world.waitForIndex({ block: await anvil.head() });
      expect(await names(world)).toEqual([...before, `kept${depth}`].sort());
    },
  );

  test("after them the index equals one that only saw the last branch", async () => {
    fresh = await startWorld({ rpcUrl: anvil.url });
    fresh.start();
    await fresh.waitForIndex({ block: await anvil.head() });
    expect(await world.entities()).toEqual(await fresh.entities());
  });
});
