/** Faults of the clients of several servers. */
import type { Fault } from "@effect-mcp/spec/Fault"

const several = "packages/client/test/servers/McpClients.test.ts"
const supervisor = { file: "packages/client/src/servers/Supervisor.ts", test: several }
const merged = { file: "packages/client/src/servers/MergedList.ts", test: several }

export const servers: ReadonlyArray<Fault> = [
  {
    name: "a server that is down is not tried again",
    ...supervisor,
    from: "const pause = retries ? Effect.raceFirst(signal, wait(tries + 1, { delay, maxDelay })) : signal",
    to: "const pause = signal"
  },
  {
    name: "a server that refuses the credentials is tried again and again",
    ...supervisor,
    from: "const retries = !isRefusal(error)",
    to: "const retries = true"
  },
  {
    name: "the loss of a connection is not noticed by its supervisor",
    ...supervisor,
    from: "    this.enter(connecting)\n    this.signal()\n  }\n\n  private unavailable",
    to: "  }\n\n  private unavailable"
  },
  {
    name: "two tools of one name are merged though the program refuses that",
    ...merged,
    from: 'else if (names === "refuse" && first.server !== listed.server) {',
    to: "else if (false) {"
  },
  {
    name: "a server passes a tool off as that of another server",
    ...merged,
    from: "        .filter(({ name }) => !Names.isOfAnother(names, name, server.name, all))\n",
    to: ""
  },
  {
    name: "a gateway waits for the resources of a server that does not answer",
    file: "packages/client/src/servers/Mounted.ts",
    test: "packages/client/test/servers/Mounted.test.ts",
    from: "itemsOf(server, (client) => client.listResources, patience)",
    to: 'itemsOf(server, (client) => client.listResources, "1 minute")'
  },
  {
    name: "every unknown name of a tool has all servers list their tools",
    ...merged,
    from: "now - readAt < missLifetime ? Effect.void : ",
    to: ""
  },
  {
    name: "a user is not told which server of several asks",
    file: "packages/client/src/servers/Answers.ts",
    test: "packages/client/test/servers/Questions.test.ts",
    from: "requester && { ...requester, serverName }",
    to: "requester"
  }
]
