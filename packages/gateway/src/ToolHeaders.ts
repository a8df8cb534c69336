/**
 * Which arguments of the tools behind travel in headers, too (spec 2026-07-28: basic/transports/streamable-http).
 *
 * Read from the list of tools when the first call over HTTP needs it, and again once the list has changed.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { McpClient } from "@effect-mcp/client/McpClient"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

type Client = McpClient["Service"]

export class ToolHeaders {
  private known: ReadonlyMap<string, ReadonlyArray<HeaderParams.HeaderParam>> | undefined = undefined
  private following = false
  private readonly client: Client
  private readonly scope: Scope.Scope

  constructor(client: Client, scope: Scope.Scope) {
    this.client = client
    this.scope = scope
  }

  /** Of one tool; none of one that is not listed, which the server behind will refuse. */
  of(tool: string): Effect.Effect<ReadonlyArray<HeaderParams.HeaderParam>, ClientError> {
    return Effect.suspend(() => {
      const { known } = this
      return known === undefined ? Effect.andThen(this.follow, this.read(tool)) : Effect.succeed(known.get(tool) ?? [])
    })
  }

  private read(tool: string) {
    return Effect.map(Stream.runCollect(this.client.listTools), (tools) => {
      const known = new Map(tools.map((one) => [one.name, HeaderParams.parse(one.inputSchema).params]))
      this.known = known
      return known.get(tool) ?? []
    })
  }

  private readonly follow: Effect.Effect<void> = Effect.suspend(() => {
    if (this.following || this.client.serverCapabilities.tools?.listChanged !== true) return Effect.void
    this.following = true
    const forget = Stream.runForEach(this.client.toolChanges, () =>
      Effect.sync(() => {
        this.known = undefined
      })
    )
    return Effect.asVoid(Effect.forkIn(forget, this.scope, { startImmediately: true }))
  })
}
