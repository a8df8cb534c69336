/** Faults of the clients of several servers. */
import type { Fault } from "@effect-mcp/spec/Fault"

const several = "packages/client/test/servers/McpClients.test.ts"
const merged = { file: "packages/client/src/servers/MergedList.ts", test: several }

export const servers: ReadonlyArray<Fault> = [
  {
    name: "a server presents a tool as if it belonged to another server",
    ...merged,
    from: "        .filter(({ name }) => !Names.isOfAnother(names, name, server.name, all))\n",
    to: ""
  }
]
