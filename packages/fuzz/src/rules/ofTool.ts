/** Custom rules about a single tool, with the types of its Tool value. */
import type { Tool } from "@effect-mcp/core/Tool"
import * as StructuredContent from "@effect-mcp/protocol/StructuredContent"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type Model } from "../model/Model.ts"
import type { Exchange } from "../model/Observation.ts"
import type { RuleHandlers, Verdict } from "../model/Rule.ts"
import { result } from "./judge.ts"
import { at } from "../model/json.ts"

/**
 * Judges the structured results of a tool. `exchange.alone` is true if no other request was open at the same time. Errors are not judged,
 * nor are results that do not match the tool's output schema.
 *
 * @example
 * ```ts
 * import { Tool } from "@effect-mcp/core"
 * import { Fuzz } from "@effect-mcp/fuzz"
 * import { Schema } from "effect"
 *
 * const Stock = Tool.make("stock", { description: "Number of items left", output: { left: Schema.Int } })
 *
 * export const neverNegative: Fuzz.Rule = {
 *   name: "never-negative",
 *   level: "MUST",
 *   text: "The number of items left is never negative.",
 *   on: Fuzz.toolResult(Stock, ({ left }) => (left < 0 ? { detail: `${left} are left` } : "pass"))
 * }
 * ```
 */
export const toolResult = <I, O, F, H>(
  tool: Tool<I, O, F, H>,
  check: (output: O, exchange: Exchange, model: Model) => Verdict
): RuleHandlers =>
  result("tools/call", (value, exchange, model) => {
    if (at(exchange.params, "name") !== tool.name || at(value, "isError") === true || tool.output === undefined)
      return undefined
    const read = isJsonObject(value) ? StructuredContent.read(value) : undefined
    const output = Effect.runSyncExit(tool.output.decode(read))
    return Exit.isSuccess(output) ? check(output.value, exchange, model) : undefined
  })
