import type { Hook } from "../../config/webhooks-file.ts";
import { send } from "../../rpc/public-address.ts";
import { type Delivery, signedHeaders } from "./signature.ts";

/** Sends a delivery to a hook. Returns why it failed, or undefined after a response with 2xx. */
export async function post(
  hook: Hook,
  delivery: Delivery,
  { at, signal }: { at: Date; signal: AbortSignal },
): Promise<string | undefined> {
  const headers = { "content-type": "application/json", "user-agent": "nsindex" };
  try {
    const response = await send(new URL(hook.url), delivery.body, {
      method: "POST",
      headers: { ...headers, ...signedHeaders(hook, delivery, at) },
      signal,
      allowsPrivate: hook.allowPrivate,
      refusal: () => new Error("the host is in a private network, and the hook lacks allowPrivate"),
    });
    // No answer's body is read.
    response.on("error", () => undefined).destroy();
    const { statusCode: status = 0 } = response;
    return status >= 200 && status < 300 ? undefined : `the response was ${status}`;
  } catch (error) {
    if (signal.aborted) return "there was no response in time";
    const { code, message } = error as Error & { code?: string };
    return code === undefined ? message : `the connection failed: ${code}`;
  }
}
