/** The official clients in sessions: every feature over one wire each, and a smoke test over the other wires. */
import { Effect } from "effect"
import { serve, serveSse, ways } from "../support/http-server.ts"
import { connect } from "../support/official.ts"
import { pages, smoke, suite } from "../support/official-suite.ts"
import { overHttp } from "../support/proxy.ts"
import * as V1 from "../support/sdk-v1.ts"
import * as V2 from "../support/sdk-v2.ts"

const v1 = "The TypeScript SDK v1 client"
const v2 = "The TypeScript SDK v2 client"

suite(v1, "stdio", connect(V1.connector), -32002)
// This SDK converts the code to the code of the newest revision.
suite(
  v2,
  "Streamable HTTP",
  Effect.flatMap(serve, ({ url }) => connect(V2.httpConnector(url))),
  -32602
)

pages(v1, V1.connector, false)
pages(v2, V2.connector, true)

smoke(v2, "stdio", connect(V2.connector))
for (const [over, serve] of [...ways, ["a Streamable HTTP to stdio proxy", overHttp] as const]) {
  smoke(
    v1,
    over,
    Effect.flatMap(serve, ({ url }) => connect(V1.httpConnector(url)))
  )
  smoke(
    v2,
    over,
    Effect.flatMap(serve, ({ url }) => connect(V2.httpConnector(url)))
  )
}
smoke(
  v1,
  "HTTP with SSE",
  Effect.flatMap(serveSse, ({ url }) => connect(V1.sseConnector(url)))
)
