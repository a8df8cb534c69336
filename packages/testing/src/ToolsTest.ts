/** Tools by table, for code that calls them through the `Tools` tag: no server, no wire, and a record of the calls. */
import type { Output } from "@effect-mcp/core/Tool"
import { resultOf, Tools } from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolParams } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** What a tool answers, always or by its arguments: anything a handler may return, or a protocol error. */
export type Stub = Answer | ((args: Arguments) => Answer)
type Answer = Output | McpError.McpError
type Arguments = NonNullable<CallToolParams["arguments"]>

export class ToolsTest extends Context.Service<
  ToolsTest,
  {
    /** The calls so far, oldest first; those of unknown tools too. */
    readonly calls: Effect.Effect<ReadonlyArray<CallToolParams>>
  }
>()("@effect-mcp/testing/ToolsTest") {}

/** One tool per name, each taking any arguments. */
export const layerStub = (stubs: { readonly [name: string]: Stub }): Layer.Layer<Tools | ToolsTest> =>
  Layer.effectContext(
    Effect.sync(() => {
      const calls: Array<CallToolParams> = []
      return Context.make(Tools, {
        list: Effect.succeed(
          Object.keys(stubs).map((name) => ({
            name,
            description: "A stub.",
            inputSchema: { type: "object" } as const
          }))
        ),
        changes: Stream.empty,
        call: (params) => {
          calls.push(params)
          const stub = Object.hasOwn(stubs, params.name) ? stubs[params.name] : undefined
          if (stub === undefined) return undefined
          return Effect.suspend(() => {
            const answer = typeof stub === "function" ? stub(params.arguments ?? {}) : stub
            return answer instanceof McpError.McpError ? Effect.fail(answer) : Effect.succeed(resultOf(answer))
          })
        }
      }).pipe(Context.add(ToolsTest, { calls: Effect.sync(() => [...calls]) }))
    })
  )
