/** `effect-mcp inspect`: shows everything a server reports about itself, without any calls. */
import { listOf } from "@effect-mcp/client/McpClient"
import { lists } from "@effect-mcp/protocol/MethodInfo"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Struct from "effect/Struct"
import { type Inspection, inspection, type ListedItems } from "../render/Listing.ts"
import * as Session from "../session/Session.ts"
import { all, ifThere, print } from "./Shared.ts"

const collect = Effect.fnUntraced(function* (session: Session.CommandSession) {
  const { client } = session
  const listed: Record<string, ReadonlyArray<object>> = {}
  for (const name of Struct.keys(lists)) {
    const { capability, noun } = lists[name]
    listed[name] =
      client.serverCapabilities[capability] === undefined
        ? []
        : yield* ifThere<object>(session, `${noun}s`, all<object>(listOf(client, name)))
  }
  const found: Inspection = {
    serverInfo: client.serverInfo,
    protocolVersion: client.revision.version,
    capabilities: client.serverCapabilities,
    ...(client.instructions === undefined ? undefined : { instructions: client.instructions }),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each list has the items of its name
    ...(listed as ListedItems)
  }
  return found
})

export const inspect = Command.make("inspect", {}, () =>
  Session.use((session) =>
    Effect.flatMap(collect(session), (found) => print(session, found, (view) => inspection(view, found)))
  )
).pipe(
  Command.withDescription("Describe a server: capabilities, instructions, tools, resources, prompts"),
  Command.withShortDescription("Describe a server"),
  Command.withExamples([
    { command: "effect-mcp inspect -- node server.js", description: "Everything at a glance" },
    { command: "effect-mcp inspect --json -- npx -y some-server | jq .capabilities", description: "For scripts" },
    { command: "effect-mcp inspect --revision 2024-11-05 -- node server.js", description: "As an old client sees it" }
  ])
)
