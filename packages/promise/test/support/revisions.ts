/** Promise servers and their clients in one process, in a given revision. */
import { type ConnectOptions, McpClient, McpServer, type Revision, type ServerOptions } from "@effect-mcp/promise"
import { onTestFinished } from "vitest"

export const revisions: ReadonlyArray<Revision> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

/** Creates a server that is closed after the test. */
export const serverOf = (options: Partial<ServerOptions> = {}): McpServer => {
  const server = new McpServer({ name: "test", version: "1.0.0", ...options })
  onTestFinished(() => server.close())
  return server
}

/** Connects an in-memory client that is closed after the test. */
export const clientOf = async (
  server: McpServer,
  revision: Revision,
  options: ConnectOptions = {}
): Promise<McpClient> => {
  const client = await McpClient.connect(server, { revisions: [revision], ...options })
  onTestFinished(() => client.close())
  return client
}

/** Collects all values of an iteration. */
export const all = async <A>(items: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const found: Array<A> = []
  for await (const item of items) found.push(item)
  return found
}

/** Returns the texts in a result. */
export const textOf = ({ content }: Awaited<ReturnType<McpClient["callTool"]>>): string =>
  content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("|")

/** Returns the error that a promise rejects with. */
export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => {
      throw new Error(`It resolved with ${JSON.stringify(value)}`)
    },
    (error: unknown) => error
  )

/** A promise that the test resolves. */
export const gate = <A = void>() => Promise.withResolvers<A>()
