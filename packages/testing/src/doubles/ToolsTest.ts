/** Stub tools for code that calls tools through the `Tools` service, without a server or transport. Records every call. */
import type { ToolOutput } from "@effect-mcp/core/Tool"
import { resultOf, Tools } from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolParams } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** A stub's answer: either a value or a function of the arguments. It can be anything a handler may return, or a protocol error. */
export type Stub = Answer | ((args: Arguments) => Answer)
type Answer = ToolOutput | McpError.McpError
type Arguments = NonNullable<CallToolParams["arguments"]>

/** Record of the calls. */
export class ToolsTest extends Context.Service<
  ToolsTest,
  {
    /** Calls made so far, oldest first, including calls to unknown tools. */
    readonly calls: Effect.Effect<ReadonlyArray<CallToolParams>>
  }
>()("@effect-mcp/testing/ToolsTest") {}

/**
 * Provides a tool for each name. Every tool accepts arbitrary arguments.
 *
 * @example
 * ```ts
 * import { Tools } from "@effect-mcp/core"
 * import { ToolsTest } from "@effect-mcp/testing"
 * import { Console, Effect } from "effect"
 *
 * const test = Effect.gen(function* () {
 *   const tools = yield* Tools.Tools
 *   tools.call({ name: "echo", arguments: { text: "hello" } })
 *   const { calls } = yield* ToolsTest.ToolsTest
 *   yield* Console.log((yield* calls).map(({ name }) => name)) // => echo
 * })
 *
 * const stubs = ToolsTest.layerStub({ echo: ({ text }) => `You said ${String(text)}` })
 * await Effect.runPromise(Effect.provide(test, stubs))
 * ```
 */
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
