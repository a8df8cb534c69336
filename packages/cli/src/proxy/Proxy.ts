/**
 * What `effect-mcp proxy` serves: a gateway in front of the target. Each client has a conversation of its own with it; questions
 * are answered by the client, not by this command.
 */
import * as Gateway from "@effect-mcp/gateway/Gateway"
import type * as McpServer from "@effect-mcp/server/McpServer"
import * as Stdio from "@effect-mcp/server/internal/Stdio"
import type { Requirements } from "@effect-mcp/client/Stdio"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Output } from "../terminal/Output.ts"
import type { Settings } from "../target/Settings.ts"
import { safe } from "../terminal/Style.ts"
import type { Options as TargetOptions, CommandTarget } from "../target/Target.ts"

export type Served = Layer.Layer<McpServer.McpServer, never, Requirements>

/** How the target is started or reached. The lines of its stderr go to this command's stderr. */
export const connectOptions = (settings: Settings, note: Output["Service"]["note"]): TargetOptions => ({
  ...settings,
  tell: undefined,
  // Ends with the server's stderr: the last lines of a server that dies come after its connection ends.
  words: (lines) =>
    Effect.asVoid(
      Effect.forkDetach(
        Stream.runForEach(lines, (line) => note(safe(line))),
        { startImmediately: true }
      )
    )
})

/** The timeout is that of lists and the like; calls take as long as their callers wait. */
export const clientOptions = ({ revision, timeout }: Settings) => ({
  revisions: revision === undefined ? undefined : [revision],
  timeout
})

/** The target as a server. */
export const gateway = (
  target: CommandTarget,
  settings: Settings,
  clients: number,
  note: Output["Service"]["note"]
): Served =>
  Gateway.layer({
    connector: target.connect(connectOptions(settings, note)),
    capacity: clients,
    client: clientOptions(settings)
  })

/** Until stdin ends. */
export const overStdio = (gateway: Served) => Effect.provide(Stdio.serve(), gateway)
