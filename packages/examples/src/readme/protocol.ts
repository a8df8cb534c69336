import { Codecs, Revision } from "@effect-mcp/protocol"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect } from "effect"

const tools = [
  { name: "add", title: "Add", inputSchema: { type: "object" as const } }
]

const program = Effect.gen(function* () {
  for (const { clientRequests, version } of Revision.all) {
    const codec = clientRequests["tools/list"]
    if (codec === undefined) continue
    const wire = yield* Codecs.coders(codec).result.encode({ tools })
    yield* Console.log(`${version} ${JSON.stringify(wire)}`)
  }
})

NodeRuntime.runMain(program)
