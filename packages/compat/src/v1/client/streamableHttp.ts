/** `@modelcontextprotocol/sdk/client/streamableHttp.js`. */
import { StreamableHTTPClientTransport as Transport } from "../../client/transports.ts"

export type { HttpClientTransportOptions as StreamableHTTPClientTransportOptions } from "../../client/transports.ts"

/** A server at a URL, over Streamable HTTP. */
export class StreamableHTTPClientTransport extends Transport {
  /** Exchanges the authorization server's code for tokens. Programs of v1 pass no `iss`, so it is not checked. */
  override async finishAuth(answer: URLSearchParams | string, iss?: string): Promise<void> {
    await this.login.finish(answer, iss ?? null)
  }
}
