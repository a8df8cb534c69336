/** `@modelcontextprotocol/sdk/server/index.js`: every error of a question or request is an `McpError`. */
import { Server as Newer } from "../../server/Server.ts"
import { toV1 } from "../errors.ts"

export type { ServerOptions } from "../../server/Server.ts"

/** The low-level server of v1. */
export class Server extends Newer {
  protected override failure(error: unknown): unknown {
    return toV1(error)
  }
}
