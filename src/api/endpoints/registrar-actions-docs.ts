import { z } from "zod/v4";
import type { EndpointDocs } from "../rest/endpoint.ts";
import {
  accountSchema,
  addressSchema,
  blockSchema,
  hashSchema,
  invalidInputSchema,
  messageSchema,
  pageContextSchema,
  secondsSchema,
} from "../rest/outputs.ts";
import { registrarActionsPath, registrarActionsQuery } from "./registrar-actions.ts";

const price = z
  .strictObject({
    currency: z.literal("ETH"),
    amount: z.string().regex(/^\d+$/).meta({ description: "Wei" }),
  })
  .nullable();

const actionSchema = z.strictObject({
  id: z.string().min(1),
  type: z.enum(["registration", "renewal"]),
  incrementalDuration: z.int().min(0).meta({ description: "Seconds" }),
  registrant: addressSchema,
  registrationLifecycle: z.strictObject({
    subregistry: z.strictObject({ subregistryId: accountSchema, node: hashSchema }),
    node: hashSchema,
    expiresAt: secondsSchema,
  }),
  pricing: z
    .strictObject({ baseCost: price, premium: price, total: price })
    .meta({ description: "Null together, where no controller told them" }),
  referral: z.strictObject({
    encodedReferrer: hashSchema.nullable(),
    decodedReferrer: addressSchema
      .nullable()
      .meta({ description: "The zero address where the encoding is no address" }),
  }),
  block: blockSchema,
  transactionHash: hashSchema,
  eventIds: z.array(z.string()).min(1),
});

const answerSchema = z.strictObject({
  responseCode: z.literal("ok"),
  registrarActions: z.array(z.strictObject({ action: actionSchema, name: z.string() })),
  pageContext: pageContextSchema,
  accurateAsOf: secondsSchema,
});

const errorSchema = z.strictObject({
  responseCode: z.literal("error"),
  error: z.strictObject({ message: z.string(), details: z.string().optional() }),
});

const common = {
  tag: "Explore",
  query: registrarActionsQuery,
  answers: {
    200: { description: "A page of actions, perhaps empty", schema: answerSchema },
    400: {
      description: "Bad parameters, or a page behind the last",
      schema: z.union([invalidInputSchema, messageSchema]),
    },
    503: { description: "A plugin is not active, or the index is not complete yet", schema: errorSchema },
  },
};

export const registrarActionsDocs: EndpointDocs[] = [
  {
    ...common,
    path: "/api/registrar-actions",
    summary: "Registrations and renewals",
    description:
      "As their users see them: the events of one transaction and name are one action. Newest first.",
  },
  {
    ...common,
    path: "/api/registrar-actions/{parentNode}",
    params: registrarActionsPath,
    summary: "Registrations and renewals under one name",
    description:
      "Actions on direct subnames of the name with this node: the one of eth, base.eth or linea.eth.",
  },
];
