/** `@modelcontextprotocol/sdk/client/sse.js`. */
import { SSEClientTransport as Transport } from "../../client/transports.ts"

/** A server at a URL: HTTP with SSE (2024-11-05). */
export class SSEClientTransport extends Transport {
  /** Gets tokens for the code of the authorization server. Programs of v1 pass no `iss`, which is not checked then. */
  override async finishAuth(answer: URLSearchParams | string, iss?: string): Promise<void> {
    await this.login.finish(answer, iss ?? null)
  }
}
