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
import type { Output } from "./Output.ts"
import type { Settings } from "./Settings.ts"
import { safe } from "./Style.ts"
import type { Target } from "./Target.ts"

export type Served = Layer.Layer<McpServer.McpServer, never, Requirements>

/** The target as a server. The lines of its stderr go to this command's stderr. */
export const gateway = (
  target: Target,
  settings: Settings,
  clients: number,
  note: Output["Service"]["note"]
): Served => {
  // Ends with the server's stderr: the last lines of a server that dies come after its connection ends.
  const stderr = (lines: Stream.Stream<string>) =>
    Effect.asVoid(
      Effect.forkDetach(
        Stream.runForEach(lines, (line) => note(safe(line))),
        { startImmediately: true }
      )
    )
  return Gateway.layer({
    connector: target.connect({ ...settings, tell: undefined, words: stderr }),
    capacity: clients,
    client: {
      revisions: settings.revision === undefined ? undefined : [settings.revision],
      // Of lists and the like; calls take as long as their callers wait.
      timeout: settings.timeout
    }
  })
}

/** Until stdin ends. */
export const overStdio = (gateway: Served) => Effect.provide(Stdio.serve(), gateway)
