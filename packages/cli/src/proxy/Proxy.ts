/**
 * The gateway that `effect-mcp proxy` serves in front of the target. Each client has a separate connection to the target, and answers the
 * target's questions.
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

/** Options for connecting to the target. Lines of its stderr go to this command's stderr. */
export const connectOptions = (settings: Settings, note: Output["Service"]["note"]): TargetOptions => ({
  ...settings,
  tell: undefined,
  // Reads stderr to its end, because a crashing server's last lines arrive after its connection has ended.
  words: (lines) =>
    Effect.asVoid(
      Effect.forkDetach(
        Stream.runForEach(lines, (line) => note(safe(line))),
        { startImmediately: true }
      )
    )
})

/** The timeout applies to lists and other short requests. Calls run as long as their callers wait. */
export const clientOptions = ({ revision, timeout }: Settings) => ({
  revisions: revision === undefined ? undefined : [revision],
  timeout
})

/** Creates the gateway in front of the target. */
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

/** Serves over stdio until stdin ends. */
export const overStdio = (gateway: Served) => Effect.provide(Stdio.serve(), gateway)
