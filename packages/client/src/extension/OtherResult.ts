/** A result of another type, on its way to the handler that returns the final one. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallOptions } from "../CallOptions.ts"
import type { ResultHandler } from "./ClientExtension.ts"

/** The request is as it was sent, without the client's declaration. */
export class OtherResult {
  readonly handler: ResultHandler
  readonly result: JsonObject
  readonly method: string
  readonly params: JsonObject
  readonly options: CallOptions
  /** Call this when the request has its final result, after which no progress belongs to it. */
  ended: () => void = () => {}

  constructor(handler: ResultHandler, result: JsonObject, method: string, params: JsonObject, options: CallOptions) {
    this.handler = handler
    this.result = result
    this.method = method
    this.params = params
    this.options = options
  }
}
