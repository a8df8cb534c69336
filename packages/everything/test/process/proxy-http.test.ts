/** The official clients drive the reference server through a proxy: they over Streamable HTTP, it over stdio. */
import { layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { connect, Official } from "../support/official.ts"
import { asking } from "../support/official/asking.ts"
import { reading } from "../support/official/reading.ts"
import { tools } from "../support/official/tools.ts"
import { overHttp } from "../support/proxy.ts"
import * as v1 from "../support/sdk-v1.ts"
import * as v2 from "../support/sdk-v2.ts"

for (const { connector, name, notFound } of [
  { name: "The TypeScript SDK v1 client", connector: v1.httpConnector, notFound: -32002 },
  { name: "The TypeScript SDK v2 client", connector: v2.httpConnector, notFound: -32602 }
]) {
  const connected = Effect.flatMap(overHttp, ({ url }) => connect(connector(url)))
  layer(Layer.effect(Official, connected), { excludeTestServices: true })(
    `${name} drives the reference server through a proxy from Streamable HTTP to stdio in 2025-11-25`,
    (it) => {
      tools(it, name)
      reading(it, notFound)
      asking(it)
    }
  )
}
