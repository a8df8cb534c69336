/** The official SDK v1 client drives the reference server over HTTP with SSE. */
import { layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { serveSse } from "../support/http-server.ts"
import { connect, Official } from "../support/official.ts"
import { asking } from "../support/official/asking.ts"
import { reading } from "../support/official/reading.ts"
import { tools } from "../support/official/tools.ts"
import { sseConnector } from "../support/sdk-v1.ts"

const name = "The TypeScript SDK v1 client"
const connected = Effect.flatMap(serveSse, ({ url }) => connect(sseConnector(url)))

layer(Layer.effect(Official, connected), { excludeTestServices: true })(
  `${name} drives the reference server over HTTP with SSE in 2025-11-25`,
  (it) => {
    tools(it, name)
    reading(it, -32002)
    asking(it)
  }
)
