/** A process keeps nothing of the sessions it has served. */
import { verifies } from "@effect-mcp/spec/verifies"
import { describe, it } from "@effect/vitest"
import { leave } from "../support/left-sessions.ts"

describe("Sessions abandoned mid-request", () => {
  it.live(
    "Sessions abandoned over memory and sockets leak no fiber, timer, socket, client or server",
    () => leave("local"),
    verifies("cancellation.receiver.frees-resources")
  )

  it.live(
    "Sessions abandoned over Streamable HTTP leak no fiber, timer, socket, client or server in either era",
    () => leave("http"),
    verifies("cancellation.receiver.frees-resources")
  )
})
