import { z } from "zod/v4";
import { chainIdSchema, countSchema } from "../../ens/schemas.ts";
import type { Healing } from "../../operations/stored-indexes.ts";
import type { LabelsVersion, Versions } from "../../status/versions.ts";
import { endpoint } from "../kit/endpoint.ts";

/** The context of `/api/config`. Responses contain only the members of `config` that `handle` names. */
export type ConfigContext = {
  config: {
    namespace: string;
    plugins: readonly string[];
    isSubgraphCompatible: boolean;
    labelSet: { labelSetId: string; labelSetVersion: number };
    /** Schema of the index served now, which a reader of a views schema follows. */
    readonly databaseSchema: string;
    /** Every indexed chain, in the order of first mention by the plugins. */
    indexedChainIds: readonly number[];
  };
  versions: Versions;
  /** The label source's last report about itself. */
  labelSource: () => Promise<LabelsVersion>;
  provenFrom?: ProvenFrom;
  /** How far a newer version of the label set has healed the index; undefined if it began with its version. */
  healing?: () => HealingState | undefined;
};

/** Healing as responses have it. */
type HealingState = Pick<Healing, "from" | "to" | "part" | "asked" | "healed"> & {
  percent?: number;
  secondsLeft?: number | undefined;
};

/** Returns, by chain id, the block from which on all logs are proven; undefined where the index needs no proofs. */
export type ProvenFrom = () => Promise<Readonly<Record<string, number>> | undefined>;

/** `provenFrom` in responses. */
export const provenFromSchema = z
  .record(z.string(), countSchema)
  .optional()
  .describe(
    "Only with RPC_VERIFY=receipts: by chain id, the block from which every log is proven by the receipts of its block",
  );

const text = z.string().min(1);

const schema = z.strictObject({
  indexedChainIds: z.array(chainIdSchema).min(1),
  databaseSchemaName: text,
  isSubgraphCompatible: z.boolean(),
  labelSet: z.strictObject({
    labelSetId: z.string().regex(/^[a-z-]{1,50}$/),
    labelSetVersion: z.int().min(0),
  }),
  namespace: text,
  plugins: z.array(text).min(1),
  versionInfo: z.strictObject({
    runtime: text,
    indexingFramework: text,
    nsDb: text,
    nsIndexer: text,
    nsNormalize: text,
    nsRainbow: text,
    nsRainbowSchema: z.int().min(1),
  }),
  provenFrom: provenFromSchema,
  labelHealing: z
    .strictObject({
      from: countSchema,
      to: countSchema,
      state: z.enum(["under way", "complete"]),
      asked: countSchema,
      healed: countSchema,
    })
    .optional()
    .describe(
      "Only in a healed index: the label set version that it started with, the one that it is healed to, how many rows without a label were checked, and how many have one now",
    ),
});

/** Healing as responses show it. */
export const describeHealing = ({ part, from, to, asked, healed }: HealingState) => ({
  ...{ from, to, asked, healed },
  state: part === "done" ? ("complete" as const) : ("under way" as const),
});

/** GET /api/config. */
export const config = endpoint({
  path: "/api/config",
  tag: "Meta",
  summary: "What is indexed, and with which versions",
  description: "The public part of the configuration.",
  answers: { 200: { description: "The configuration", schema } },
  handle: async (_, { config, versions, labelSource, provenFrom, healing }: ConfigContext) => {
    const { version, schemaVersion } = await labelSource();
    // Members that the schemas do not name are left out.
    const state = healing?.();
    const body = schema.strip().parse({
      ...config,
      databaseSchemaName: config.databaseSchema,
      labelSet: schema.shape.labelSet.strip().parse(config.labelSet),
      versionInfo: { ...versions, nsRainbow: version, nsRainbowSchema: schemaVersion },
      provenFrom: await provenFrom?.(),
      labelHealing: state && describeHealing(state),
    });
    return { status: 200, body };
  },
});
