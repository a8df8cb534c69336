/** `effect-mcp inspect`: everything a server says of itself, without calling anything. */
import type { ClientError } from "@effect-mcp/client/ClientError"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import { type Inspection, inspection } from "../render/Listing.ts"
import * as Session from "../session/Session.ts"
import { all, ifThere, print } from "./Shared.ts"

const collect = Effect.fnUntraced(function* (session: Session.CommandSession) {
  const { client } = session
  const { prompts, resources, tools } = client.serverCapabilities
  const listed = <A>(declared: object | undefined, what: string, stream: Stream.Stream<A, ClientError>) =>
    declared === undefined ? Effect.succeed([]) : ifThere(session, what, all(stream))
  const found: Inspection = {
    serverInfo: client.serverInfo,
    protocolVersion: client.revision.version,
    capabilities: client.serverCapabilities,
    ...(client.instructions === undefined ? undefined : { instructions: client.instructions }),
    tools: yield* listed(tools, "tools", client.listTools),
    resources: yield* listed(resources, "resources", client.listResources),
    resourceTemplates: yield* listed(resources, "resource templates", client.listResourceTemplates),
    prompts: yield* listed(prompts, "prompts", client.listPrompts)
  }
  return found
})

export const inspect = Command.make("inspect", {}, () =>
  Session.use((session) =>
    Effect.flatMap(collect(session), (found) => print(session, found, (view) => inspection(view, found)))
  )
).pipe(
  Command.withDescription("Show what a server is and offers: capabilities, instructions, tools, resources, prompts"),
  Command.withShortDescription("Show what a server is and offers"),
  Command.withExamples([
    { command: "effect-mcp inspect -- node server.js", description: "Everything at a glance" },
    { command: "effect-mcp inspect --json -- npx -y some-server | jq .capabilities", description: "For scripts" },
    { command: "effect-mcp inspect --revision 2024-11-05 -- node server.js", description: "As an old client sees it" }
  ])
)
