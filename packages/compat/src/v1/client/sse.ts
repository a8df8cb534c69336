/** `@modelcontextprotocol/sdk/client/sse.js`. */
import { SSEClientTransport as Transport } from "../../client/transports.ts"

/** A server at a URL, over HTTP with SSE (2024-11-05). */
export class SSEClientTransport extends Transport {
  /** Exchanges the authorization server's code for tokens. Programs of v1 pass no `iss`, so it is not checked. */
  override async finishAuth(answer: URLSearchParams | string, iss?: string): Promise<void> {
    await this.login.finish(answer, iss ?? null)
  }
}
