/**
 * Which arguments of upstream tools travel in headers, too (spec 2026-07-28: basic/transports/streamable-http).
 *
 * Reads the list of tools when the first call over HTTP needs it, and again after the list has changed.
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

  /** The arguments of one tool; none for a tool that is not listed, which the upstream server refuses. */
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
