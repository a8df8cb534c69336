/** The official SDK v1 client drives the reference server over Streamable HTTP, in sessions. */
import { layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ways } from "../support/http-server.ts"
import { connect, Official } from "../support/official.ts"
import { asking } from "../support/official/asking.ts"
import { reading } from "../support/official/reading.ts"
import { tools } from "../support/official/tools.ts"
import { httpConnector } from "../support/sdk-v1.ts"

const name = "The TypeScript SDK v1 client"

for (const [over, serve] of ways) {
  const connected = Effect.flatMap(serve, ({ url }) => connect(httpConnector(url)))

  layer(Layer.effect(Official, connected), { excludeTestServices: true })(
    `${name} drives the reference server over ${over} in 2025-11-25`,
    (it) => {
      tools(it, name)
      reading(it, -32002)
      asking(it)
    }
  )
}
