/** Programs for the SDK v2 run on the official SDK and on the shim: the same conversation has the same results on both. */
import type { Progress } from "@effect-mcp/compat/client"
import { assert, describe, it } from "@effect/vitest"
import { connections, type ConnectionName, type Era, type Setting } from "../support/connections.ts"
import { kinds } from "../support/modules.ts"
import { conversations } from "../support/conversations.ts"
import { comparable } from "../support/comparable.ts"

const converse = async (connection: ConnectionName, setting: Setting): Promise<unknown> => {
  const conversation = conversations[setting.program]
  if (conversation === undefined) throw new Error(`There is no conversation with ${setting.program}`)
  const client = await connections[connection](setting)
  try {
    return comparable(await conversation(client))
  } finally {
    await client.close()
  }
}

/** Results of the official client with the official server, by program and connection. */
const known = new Map<string, Promise<unknown>>()
const oracle = (connection: ConnectionName, program: string, era: Era): Promise<unknown> => {
  const key = `${connection} ${program} ${era}`
  const found = known.get(key) ?? converse(connection, { client: "official", server: "official", program, era })
  known.set(key, found)
  return found
}

/**
 * True if the official server can hold the conversation over `createMcpHandler`. Each request has a new server without state, and without a
 * session it cannot ask the client.
 */
const isPossible = (program: string, era: Era): boolean =>
  program !== "changing" && (era === "modern" || program !== "questions")

const pairs = [
  ["official", "shim"],
  ["shim", "official"],
  ["shim", "shim"]
] as const

/** Programs whose conversations depend on the connection. Each takes two processes over stdio. */
const overStdio = new Set(["changing", "custom", "questions", "streams"])

const isTried = (connection: ConnectionName, program: string, era: Era): boolean => {
  if (connection === "stdio") return overStdio.has(program)
  return connection === "session" ? era === "legacy" : isPossible(program, era)
}

const settings = Object.keys(conversations).flatMap((program) =>
  (["stdio", "handler", "session"] as const).flatMap((connection) =>
    (["legacy", "modern"] as const)
      .filter((era) => isTried(connection, program, era))
      .flatMap((era) => pairs.map(([client, server]) => ({ connection, program, era, client, server })))
  )
)

describe("SDK v2 programs", () => {
  it.each(settings)(
    "$program, $era over $connection: the $client client sees the same on the $server server as with the SDK",
    async ({ connection, ...setting }) => {
      const { era, program } = setting
      assert.deepStrictEqual(await converse(connection, setting), await oracle(connection, program, era))
    }
  )

  // The official client drops progress that it reads together with the result.
  it.each(kinds)("A compatibility layer client receives progress from the %s server", async (server) => {
    const client = await connections.session({ client: "shim", server, program: "streams", era: "legacy" })
    const progress: Array<unknown> = []
    const onprogress = ({ progress: at, total }: Progress) => void progress.push([at, total])
    await client.callTool({ name: "count", arguments: { to: 3 } }, { onprogress })
    assert.deepStrictEqual(progress, [
      [1, 3],
      [2, 3],
      [3, 3]
    ])
    await client.close()
  })
})
