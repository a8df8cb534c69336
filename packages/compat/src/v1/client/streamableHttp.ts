/** `@modelcontextprotocol/sdk/client/streamableHttp.js`. */
import { StreamableHTTPClientTransport as Transport } from "../../client/transports.ts"

export type { HttpClientTransportOptions as StreamableHTTPClientTransportOptions } from "../../client/transports.ts"

/** A server at a URL: Streamable HTTP. */
export class StreamableHTTPClientTransport extends Transport {
  /** Gets tokens for the code of the authorization server. Programs of v1 pass no `iss`, which is not checked then. */
  override async finishAuth(answer: URLSearchParams | string, iss?: string): Promise<void> {
    await this.login.finish(answer, iss ?? null)
  }
}
