import type { z } from "zod/v4";

/** What the API's document tells of one answer. */
export type AnswerDocs = { description: string; schema?: z.ZodType };

/** What the API's document tells of an endpoint: the schemas are those that its requests are read with. */
export type EndpointDocs = {
  /** In the form of OpenAPI: `/api/x/{id}`. */
  path: string;
  tag: string;
  summary: string;
  description: string;
  params?: z.ZodObject;
  query?: z.ZodObject;
  /** By HTTP status. */
  answers: Record<number, AnswerDocs>;
};
