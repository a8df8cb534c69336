/** `effect-mcp inspect`: everything a server says of itself, without calling anything. */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import { type Inspection, inspection } from "../render/Listing.ts"
import * as Session from "../Session.ts"
import { all, print } from "./Shared.ts"

const collect = Effect.fnUntraced(function* ({ client }: Session.Session) {
  const { prompts, resources, tools } = client.serverCapabilities
  const none = Effect.succeed([])
  const found: Inspection = {
    serverInfo: client.serverInfo,
    protocolVersion: client.revision.version,
    capabilities: client.serverCapabilities,
    ...(client.instructions === undefined ? undefined : { instructions: client.instructions }),
    tools: yield* tools === undefined ? none : all(client.tools),
    resources: yield* resources === undefined ? none : all(client.resources),
    resourceTemplates: yield* resources === undefined ? none : all(client.resourceTemplates),
    prompts: yield* prompts === undefined ? none : all(client.prompts)
  }
  return found
})

export const inspect = Command.make("inspect", {}, () =>
  Session.use((session) =>
    Effect.flatMap(collect(session), (found) => print(session, found, (view) => inspection(view, found)))
  )
).pipe(
  Command.withDescription("Show what a server is and offers: capabilities, instructions, tools, resources, prompts"),
  Command.withExamples([
    { command: "effect-mcp inspect -- node server.js", description: "Everything at a glance" },
    { command: "effect-mcp inspect --json -- npx -y some-server | jq .capabilities", description: "For scripts" },
    { command: "effect-mcp inspect --revision 2024-11-05 -- node server.js", description: "As an old client sees it" }
  ])
)
