/** `@modelcontextprotocol/sdk/client/index.js`: lists are read page by page, and every error of a request is an `McpError`. */
import { Client as Newer } from "../../client/Client.ts"
import type { RequestOptions } from "../../client/Options.ts"
import { toV1 } from "../errors.ts"

export type { ClientOptions, RequestOptions } from "../../client/Options.ts"

/** The client of v1. */
export class Client extends Newer {
  protected override get readsAllPages(): boolean {
    return false
  }

  protected override failure(error: unknown): unknown {
    return toV1(super.failure(error))
  }
}

export type ConnectOptions = RequestOptions
