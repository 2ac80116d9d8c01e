import type { Hook } from "../../config/webhooks-file.ts";
import { send } from "../../rpc/public-address.ts";
import { type Delivery, signedHeaders } from "./signature.ts";

// Standard Webhooks' libraries refuse a timestamp that is five minutes away.
const clockDifference = 240;

/** Sends a delivery to a hook, signed as of `at`. Returns why it failed, or undefined after a response with 2xx. */
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
    // No response's body is read.
    response.on("error", () => undefined).destroy();
    const { statusCode: status = 0, headers: answered } = response;
    if (status >= 200 && status < 300) return undefined;
    const seconds = Math.round(Math.abs(Date.parse(answered.date ?? "") - at.getTime()) / 1_000);
    const isByClock = status >= 400 && status < 500 && seconds > clockDifference;
    const clocks = isByClock ? `, and the receiver's clock differs by ${seconds} s from this machine's` : "";
    return `the response was ${status}${clocks}`;
  } catch (error) {
    if (signal.aborted) return "there was no response in time";
    const { code, message } = error as Error & { code?: string };
    return code === undefined ? message : `the connection failed: ${code}`;
  }
}
